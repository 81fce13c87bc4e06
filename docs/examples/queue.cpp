// SPDX-License-Identifier: Apache-2.0
/*
 * C++: handles that end by themselves, in the right order, and errors as exceptions.
 *
 *	c++ -std=c++17 -o queue queue.cpp $(pkg-config --cflags --libs libdonard)
 *	queue /dev/nvme0n1 p2pmem0
 */
#include <donard/queue.h>

#include <array>
#include <cerrno>
#include <iostream>
#include <memory>
#include <stdexcept>

template <auto end> struct Ends {
	template <class T> void operator()(T *handle) const { end(handle); }
};

using Context = std::unique_ptr<donard_context, Ends<donard_close>>;
using Queue = std::unique_ptr<donard_queue, Ends<donard_queue_close>>;
using File = std::unique_ptr<donard_file, Ends<donard_file_close>>;
using Memory = std::unique_ptr<donard_memory, Ends<donard_memory_free>>;

static Context context;

static int check(int rc)
{
	if (rc < 0)
		throw std::runtime_error(context ? donard_error(context.get()) : "no context");
	return rc;
}

/* make<Queue>(donard_queue_open, arguments...): the handle comes by the last argument. */
template <class Handle, class Call, class... Arguments> Handle make(Call call, Arguments... arguments)
{
	typename Handle::pointer handle = nullptr;

	check(call(context.get(), arguments..., &handle));
	return Handle(handle);
}

static void run(const char *path, const char *region)
{
	constexpr uint64_t block = 65536, count = 16;
	auto memory = make<Memory>(donard_memory_alloc, region, block * count);
	auto file = make<File>(donard_file_open, path, 0U);
	auto queue = make<Queue>(donard_queue_open, nullptr);
	std::array<donard_completion, count> done;

	for (uint64_t i = 0; i < count; i++)
		check(donard_queue_read(queue.get(), file.get(), i * block, memory.get(), i * block, block, nullptr));
	for (uint64_t left = count; left;) {
		int got = donard_queue_wait(queue.get(), 1, -1, done.data(), count);

		if (got == -EINTR) /* a signal, or work of the kernel's own, came first */
			continue;
		check(got);
		for (int i = 0; i < got; i++)
			if (done[i].result != int64_t(block))
				throw std::runtime_error(done[i].result < 0 ? done[i].error : "the file ends too early");
		left -= got;
	}
	std::cout << count * block << " bytes, route " << donard_route_text(done[0].route) << "\n";
}

int main(int argc, char **argv)
try {
	donard_context *opened;

	if (argc != 3 || donard_open(&opened, nullptr))
		return 2;
	context.reset(opened);
	run(argv[1], argv[2]);
	return 0;
} catch (const std::exception &error) {
	std::cerr << error.what() << "\n";
	return 1;
}
