// SPDX-License-Identifier: GPL-2.0-only OR MIT
//
// One id from /dev/snowflake, and what is in it: Node.js, without a library.
//
//	node next.mjs [DEVICE]
//
// Use readSync() rather than createReadStream(): a stream would take 8,192 ids
// to give one. And keep ids as BigInt, or as strings in JSON: a number rounds
// them, since they are above 2^53.

import { openSync, readSync } from "node:fs";
import { pathToFileURL } from "node:url";

// The layout of the device, here Twitter's; see snowflake(4) for others.
const EPOCH_MS = 1288834974657n;
const WORKER_BITS = 10n;
const SEQUENCE_BITS = 12n;

// Open it once and keep it: ids of one open file rise.
export class Snowflake {
	#device;
	#fd;
	#id = new BigUint64Array(1); // of the machine's byte order

	constructor(device = "/dev/snowflake") {
		this.#device = device;
		this.#fd = openSync(device, "r");
	}

	// The next id, a BigInt; throws if there is none.
	next() {
		if (readSync(this.#fd, this.#id) !== 8)
			throw new Error(`${this.#device}: no id`);
		return this.#id[0];
	}
}

export function decode(id) {
	return {
		unixMs: (id >> (WORKER_BITS + SEQUENCE_BITS)) + EPOCH_MS,
		worker: (id >> SEQUENCE_BITS) & ((1n << WORKER_BITS) - 1n),
		sequence: id & ((1n << SEQUENCE_BITS) - 1n),
	};
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
	const id = new Snowflake(process.argv[2]).next();
	const { unixMs, worker, sequence } = decode(id);

	console.log(
		`id ${id} unix_ms ${unixMs} worker ${worker} sequence ${sequence}`,
	);
}
