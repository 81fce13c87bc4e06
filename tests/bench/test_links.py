# SPDX-License-Identifier: Apache-2.0
import unittest

from donardstat import links, sections, summary
from donardstat.results import Run
from invented import results

TO, FROM = "to-region", "from-region"


def link(direction, **said):
    return {"direction": direction, "client_type": "nvme", "client": "/dev/nvme0n1", "client_function": "0000:01:00.0",
            "region_function": "0000:02:00.0", "route": "switch", "wide_address": True,
            "client_payload_bytes_max": 256, "client_request_bytes_max": 512, "region_payload_bytes_max": 256,
            "client_ecrc": False, "region_ecrc": False, "flits": False, "unknown": None, **said}


SOFT = {"direction": None, "client_type": "rdma", "client": "rxe0",
        "unknown": "rxe0: it is RDMA in software: the CPU copies, and it has no link"}


def nic(direction):
    return link(direction, client_type="rdma", client="mlx5_0", client_function="0000:81:00.0", client_payload_bytes_max=512,
                client_request_bytes_max=4096)


def older(one):
    return {key.replace("client", "drive"): value for key, value in one.items() if key != "client_type"}


class Links(unittest.TestCase):
    def test_writes(self):
        """links: a write of 256 bytes has a header of 16 bytes, or 12 below 4 GiB, and 8 bytes of framing"""
        found = links.carried(link(TO))
        self.assertEqual((found.least, found.most, found.requests), (1 + 24 / 256, None, 0))
        self.assertEqual(links.carried(link(TO, wide_address=False)).least, 1 + 20 / 256)
        self.assertEqual(links.carried(link(TO, client_ecrc=True)).least, 1 + 28 / 256)

    def test_reads(self):
        """links: completions have a header of 12 bytes, and end at 128 bytes or at the largest payload of who answers"""
        found = links.carried(link(FROM))
        self.assertEqual((found.least, found.most, found.requests), (1 + 20 / 256, 1 + 20 / 128, 24 / 512))
        found = links.carried(link(FROM, region_payload_bytes_max=128))
        self.assertEqual((found.least, found.most), (1 + 20 / 128, 1 + 20 / 128))
        found = links.carried(link(FROM, region_ecrc=True))
        self.assertEqual((found.least, found.requests), (1 + 24 / 256, 24 / 512))

    def test_short_requests(self):
        """links: a completion has no more than its request asked for"""
        found = links.carried(link(FROM, client_request_bytes_max=128))
        self.assertEqual((found.least, found.most, found.requests), (1 + 20 / 128, 1 + 20 / 128, 24 / 128))
        self.assertTrue(found.packets.endswith("completions of 128"))

    def test_own_memory(self):
        """links: what a device moves to its own memory crosses none"""
        found = links.carried(link(TO, region_function="0000:01:00.0"))
        self.assertEqual((found.least, found.most, found.requests), (0, 0, 0))

    def test_unknown(self):
        """links: nothing is predicted of what is not known, or of flits"""
        self.assertIsNone(links.carried(link(TO, flits=True)))
        less = {"region_payload_bytes_max": None, "region_ecrc": None, "unknown": "0000:02:00.0: why"}
        self.assertIsNone(links.carried(link(FROM, **less)))
        self.assertIsNotNone(links.carried(link(TO, **less)))
        self.assertIsNone(links.carried({"direction": TO, "client": "md0", "unknown": "md0: why"}))

    def test_no_route(self):
        """links: without the memory's address no header is taken for the shorter one"""
        less = {"route": None, "wide_address": None, "unknown": "0000:01:00.0: why"}
        self.assertIsNone(links.carried(link(TO, **less)))
        self.assertIsNone(links.carried(link(FROM, **less)))

    def test_table(self):
        """links: the table of a run has what was counted beside what is predicted"""
        data = results("copy-counts")
        data["links"] = [link(TO), link(FROM, client_request_bytes_max=None, unknown="0000:01:00.0: not for you")]
        shown = [" ".join(line.split()) for line in summary.lines(Run("copy", data))]
        self.assertIn("drive to region 0000:01:00.0 0000:02:00.0 switch writes of at most 256 bytes "
                      "1.00 at least 1.09 0", shown)
        self.assertIn("region to drive 0000:01:00.0 0000:02:00.0 switch 0000:01:00.0: not for you 1.00 - -", shown)

    def test_nic(self):
        """links: RDMA has a line for each way between NIC and region, and one that says that a device is software"""
        data = results("rdma-counts")
        data["links"] = [nic(FROM), nic(TO), SOFT]
        for benchmark in ("table1", "rdma"):
            shown = [" ".join(line.split()) for line in summary.lines(Run("rdma", {**data, "benchmark": benchmark}))]
            self.assertIn("NIC to region 0000:81:00.0 0000:02:00.0 switch writes of at most 512 bytes - at least 1.05 0",
                          shown)
            self.assertIn("region to NIC 0000:81:00.0 0000:02:00.0 switch requests of at most 4096 bytes, "
                          "completions of 128 to 256 - 1.08 to 1.16 at least 0.006", shown)
            self.assertIn(f"- rxe0 - - {SOFT['unknown']} - - -", shown)

    def test_page(self):
        """links: drives and NICs stand in one table, of older results, too, which call each a drive"""
        copies, rdma = results("copy-counts"), results("rdma-counts")
        copies["links"] = [older(link(TO))]
        rdma["links"] = [nic(TO), SOFT]
        runs = {"copy-counts-7": copies, "rdma-counts-rxe": rdma, "rdma-counts-siw": rdma, "table1-siw": results("table1")}
        rows = sections.on_the_wire([Run(name, data) for name, data in runs.items()])[2:]
        self.assertEqual([row.split(" | ")[:2] for row in rows],
                         [["| drive to region", "0000:01:00.0"], ["| NIC to region", "0000:81:00.0"], ["| -", "rxe0"]])
        self.assertTrue(rows[0].endswith("| writes of at most 256 bytes | 1.00 | at least 1.09 | 0 |"))


if __name__ == "__main__":
    unittest.main()
