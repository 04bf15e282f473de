// SPDX-License-Identifier: GPL-2.0-only OR MIT

import java.io.EOFException;
import java.io.FileInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * One id from /dev/snowflake, and what is in it: Java 11 or later, without a
 * library.
 *
 * <pre>java Next.java [DEVICE]</pre>
 *
 * No BufferedInputStream around it: that would take 1,024 ids to give one, and
 * hand out the others, by then old, for as long as the program runs. And no
 * DataInputStream: ids have the byte order of the machine.
 */
public final class Next implements AutoCloseable {
    // The layout of the device, here Twitter's; see snowflake(4) for others.
    private static final long EPOCH_MS = 1288834974657L;
    private static final int WORKER_BITS = 10;
    private static final int SEQUENCE_BITS = 12;

    private final FileInputStream device;

    /** Open it once and keep it: ids of one open file rise. */
    public Next(String path) throws IOException {
        device = new FileInputStream(path);
    }

    /** The next id; for any number of threads. */
    public long next() throws IOException {
        byte[] bytes = new byte[8];

        if (device.read(bytes) != bytes.length) {
            throw new EOFException("no id");
        }
        return ByteBuffer.wrap(bytes).order(ByteOrder.nativeOrder()).getLong();
    }

    @Override
    public void close() throws IOException {
        device.close();
    }

    public static long unixMs(long id) {
        return (id >>> (WORKER_BITS + SEQUENCE_BITS)) + EPOCH_MS;
    }

    public static long worker(long id) {
        return id >>> SEQUENCE_BITS & (1L << WORKER_BITS) - 1;
    }

    public static long sequence(long id) {
        return id & (1L << SEQUENCE_BITS) - 1;
    }

    public static void main(String[] args) throws IOException {
        try (Next snowflake = new Next(args.length > 0 ? args[0] : "/dev/snowflake")) {
            long id = snowflake.next();

            System.out.printf("id %d unix_ms %d worker %d sequence %d%n",
                    id, unixMs(id), worker(id), sequence(id));
        }
    }
}
