# SPDX-License-Identifier: Apache-2.0
import unittest

from donardstat import stats, text


def sample(size, value, interrupts=None, switches=None):
    return {"bytes": size, "value": value,
            "measured": {"interrupts": interrupts, "context_switches": switches, "value": value}}


def value(one):
    return one["value"]


class Statistics(unittest.TestCase):
    def test_median(self):
        """stats: the median is a value that was seen, and unknown ones do not count"""
        self.assertEqual(stats.median([3, 1, 2]), 2)
        self.assertEqual(stats.median([4, 1, None, 3, 2]), 2)
        self.assertIsNone(stats.median([None]))
        self.assertIsInstance(stats.median([1, 2]), int)

    def test_quantiles(self):
        """stats: quantiles by nearest rank, as the library has them"""
        values = list(range(1, 1001))
        self.assertEqual([stats.quantile(values, share) for share in (500, 900, 990, 999, 1000)],
                         [500, 900, 990, 999, 1000])
        self.assertEqual([stats.quantile([7, 9], share) for share in (0, 500, 501)], [7, 7, 9])

    def test_per_byte(self):
        """stats: what a byte more costs leaves start-up out"""
        rounds = [sample(size, 1000 + 3 * size + noise) for size in (10, 20, 40) for noise in (0, 1, 5)]
        self.assertEqual(stats.per_byte(rounds, value), 3)
        self.assertIsNone(stats.per_byte(rounds[:3], value))
        self.assertIsNone(stats.per_byte([sample(1, None), sample(2, 4)], value))

    def test_apart(self):
        """stats: a cost is known only where the rounds of both sizes are apart"""
        def cost(small, large):
            return stats.per_byte_apart([*(sample(10, one) for one in small), *(sample(20, one) for one in large)], value)

        self.assertEqual(cost((1, 2, 3), (14, 13, 12)), 1.1)
        self.assertEqual(cost((5, 5), (5, 5)), 0)
        for small, large in (((1, 2, 14), (13, 15, 16)), ((1, 2, 3), (3, 4, 5)), ((1, 2), (None, None)), ((1, 2), ())):
            self.assertIsNone(cost(small, large))

    def test_rounds(self):
        """stats: what a byte more costs in each round"""
        rounds = [{**sample(size, each * size), "round": each} for size in (10, 20) for each in (3, 1)]
        self.assertEqual(stats.rounds_per_byte(rounds, value), (1, 3))

    def test_unknown_parts(self):
        """stats: a sum with an unknown part is unknown, as is a quotient by nothing"""
        self.assertIsNone(stats.total(1, None))
        self.assertEqual(stats.total(1, 2), 3)
        self.assertIsNone(stats.over(1, 0))
        self.assertIsNone(stats.over(None, 2))
        self.assertEqual([stats.above_zero(number) for number in (-1, 0, 2)], [None, None, 2])

    def test_fit(self):
        """stats: the fit finds what an interrupt and a switch cost"""
        pairs = [(100, 4), (120, 9), (80, 7), (90, 1), (110, 3)]
        samples = [sample(1, 50000 + 700 * i + 3000 * s, i, s) for i, s in pairs]
        costs = stats.host_costs(samples, value)
        self.assertAlmostEqual(costs.interrupt, 700)
        self.assertAlmostEqual(costs.switch, 3000)
        apart = [stats.apart_from_host(one, costs, stats.host_most(samples), value) for one in samples]
        for count in apart:
            self.assertAlmostEqual(count, 50000)

    def test_fit_of_nothing(self):
        """stats: no fit of three samples, of counts that never differ, or of two that go together"""
        apart = [sample(1, 5 * i, i, i * i) for i in range(5)]
        self.assertNotEqual(stats.host_costs(apart, value), stats.HostCosts())
        for samples in (apart[:3], [sample(1, 7, 3, 4)] * 9, [sample(1, 5 * i, i, 2 * i) for i in range(9)],
                        [sample(1, 5 * i, None, i) for i in range(9)]):
            self.assertEqual(stats.host_costs(samples, value), stats.HostCosts())

    def test_no_excuse_beyond_the_baseline(self):
        """stats: more interrupts than the samples ever met excuse nothing"""
        costs, limit = stats.HostCosts(interrupt=10), stats.HostMost(interrupts=5)
        self.assertEqual(stats.apart_from_host(sample(1, 1000, 7, 0), costs, limit, value), 950)

    def test_numbers(self):
        """stats: numbers as text"""
        self.assertEqual([text.share(number) for number in (None, 0, 0.0004, 0.0396, 1, 2.345, -0.5)],
                         ["-", "0", "< 0.001", "0.040", "1.00", "2.35", "-0.500"])
        self.assertEqual([text.grouped(number) for number in (None, 0, 999.5, 1234567, -1234.5)],
                         ["-", "0", "1,000", "1,234,567", "-1,235"])
        self.assertEqual([text.size(number) for number in (None, 512, 4096, 3 << 19, 1 << 30)],
                         ["-", "512 B", "4 KiB", "1.5 MiB", "1 GiB"])
        self.assertEqual([text.short(number) for number in (0.5, 10, 1000, 2.5e6, 1e9)],
                         ["0.5", "10", "1 k", "2.5 M", "1 G"])
        self.assertEqual(text.span([None, 2, 1, 1.5], text.ratio), "1.00 to 2.00")
