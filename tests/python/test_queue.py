# SPDX-License-Identifier: Apache-2.0
"""Queues over a file of the scene: what ends before it begins."""
import errno
import os
import unittest

from scene import BLOCK, WithQueues


class Canceled(WithQueues):
    # None of them begins while another one ends.
    def test_all_requests_of_an_object(self):
        queue, job = self.queue(), object()
        # Else io_uring gives the writes to a thread, where a cancel finds them.
        os.fsync(self.file.fileno())
        os.posix_fadvise(self.file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        for index in range(3):
            queue.write(self.file, self.memory, file_offset=index * BLOCK, length_bytes=BLOCK, user=job)
        self.assertEqual(queue.cancel(job), 3)
        self.assertEqual([one.result for one in queue.wait(3)], [-errno.ECANCELED] * 3)
        self.assertEqual(self.scene.path.read_bytes(), self.scene.data)


if __name__ == "__main__":
    unittest.main()
