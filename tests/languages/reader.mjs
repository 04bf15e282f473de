// SPDX-License-Identifier: GPL-2.0-only OR MIT
//
// Reads ids in a manner of Node.js, as reader.c does in one of C.
//
//	node reader.mjs {example|block} COUNT DEVICE

import { openSync, readFileSync, readSync, writeSync } from "node:fs";

import { Snowflake } from "../../userspace/examples/next.mjs";

const [manner, number, device] = process.argv.slice(2);
const ids = new BigUint64Array(Number(number));

// Each puts one id or more where it is told to, and returns how many.
const manners = {
	example() {
		const snowflake = new Snowflake(device);

		return (into) => {
			into[0] = snowflake.next();
			return 1;
		};
	},
	block() {
		const fd = openSync(device, "r");

		return (into) => {
			const got = readSync(fd, into.subarray(0, 1000));

			if (got === 0 || got % 8 !== 0)
				throw new Error(`a read gave ${got} bytes`);
			return got / 8;
		};
	},
};

const take = manners[manner]();

// By number: process.stdin would make a pipe non-blocking.
writeSync(2, "ready\n");
readFileSync(0);
for (let done = 0; done < ids.length; )
	done += take(ids.subarray(done));

let bytes = new Uint8Array(ids.buffer);

while (bytes.length > 0)
	bytes = bytes.subarray(writeSync(1, bytes));
