// SPDX-License-Identifier: GPL-2.0-only OR MIT

// Reads ids in a manner of Go, as reader.c does in one of C.
//
//	reader {read|block} COUNT DEVICE
//
// Go's files do not block, and wait by epoll.
package main

import (
	"io"
	"log"
	"os"
	"strconv"
)

func main() {
	size := map[string]int{"read": 8, "block": 8000}[os.Args[1]]
	count, err := strconv.Atoi(os.Args[2])
	if err != nil || size == 0 {
		log.Fatal("no such manner or number")
	}
	device, err := os.Open(os.Args[3])
	if err != nil {
		log.Fatal(err)
	}

	os.Stderr.WriteString("ready\n")
	io.Copy(io.Discard, os.Stdin)
	ids := make([]byte, 8*count)
	for done := 0; done < len(ids); {
		end := done + size
		if end > len(ids) {
			end = len(ids)
		}
		got, err := io.ReadFull(device, ids[done:end])
		if err != nil {
			log.Fatal(err)
		}
		done += got
	}
	if _, err := os.Stdout.Write(ids); err != nil {
		log.Fatal(err)
	}
}
