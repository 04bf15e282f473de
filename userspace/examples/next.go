// SPDX-License-Identifier: GPL-2.0-only OR MIT

// One id from /dev/snowflake, and what is in it: Go, without a library.
//
//	go run next.go [DEVICE]
//
// An os.File is unbuffered, and has to stay so: bufio would take 512 ids to give
// one, and hand out the others, by then old, for as long as the program runs.
package main

import (
	"fmt"
	"io"
	"os"
	"unsafe"
)

// The layout of the device, here Twitter's; see snowflake(4) for others.
const (
	epochMs      = 1288834974657
	workerBits   = 10
	sequenceBits = 12
)

// next returns an id of an open device; for any number of goroutines.
func next(device io.Reader) (uint64, error) {
	// An id has the byte order of the machine: read it where it is kept.
	// From Go 1.21 on, binary.NativeEndian does it as well.
	var id uint64
	_, err := io.ReadFull(device, (*[8]byte)(unsafe.Pointer(&id))[:])
	return id, err
}

func decode(id uint64) (unixMs, worker, sequence uint64) {
	return id>>(workerBits+sequenceBits) + epochMs,
		id >> sequenceBits & (1<<workerBits - 1),
		id & (1<<sequenceBits - 1)
}

func run() error {
	path := "/dev/snowflake"
	if len(os.Args) > 1 {
		path = os.Args[1]
	}
	// Open it once and keep it: ids of one open file rise.
	device, err := os.Open(path)
	if err != nil {
		return err
	}
	defer device.Close()
	id, err := next(device)
	if err != nil {
		return fmt.Errorf("%s: no id: %w", path, err)
	}
	unixMs, worker, sequence := decode(id)
	fmt.Println("id", id, "unix_ms", unixMs, "worker", worker, "sequence", sequence)
	return nil
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
