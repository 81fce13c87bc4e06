// SPDX-License-Identifier: Apache-2.0
/*
 * A program that wraps cuFile as wrappers in C++ do: types of the packaged header, no
 * linking; the library is opened by its names in turn, and what is younger than it is
 * done without.
 *
 *	cufile_wrapper FILE host|gpu straight|compat
 *
 * Which way the bytes go is what cufile.json says; the program checks that it was that way.
 */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cufile.h>

namespace {

constexpr size_t BYTES = 4 << 20;
constexpr size_t TASK_BYTES = 1 << 20;

void equal(const std::string &what, long long expected, long long seen)
{
	if (expected != seen)
		throw std::runtime_error(what + ": expected " + std::to_string(expected) + ", seen " +
					 std::to_string(seen));
}

/* ---- libraries by name ---- */

class library {
public:
	explicit library(const std::vector<const char *> &names)
	{
		for (const char *name : names)
			if (!handle)
				handle = dlopen(name, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
		if (!handle)
			throw std::runtime_error(dlerror());
	}

	/* Throws if it is not there. */
	template <typename T> void get(T &function, const char *name) const
	{
		if (!find(function, name))
			throw std::runtime_error(std::string("no ") + name);
	}

	template <typename T> bool find(T &function, const char *name) const
	{
		dlerror();
		function = reinterpret_cast<T>(dlsym(handle, name));
		return !dlerror() && function;
	}

private:
	void *handle = nullptr;
};

struct counts {
	size_t size;
	uint64_t reads, writes, failures, read_bytes, written_bytes, staged_bytes, compat_bytes;
};

using version_call = CUfileError_t (*)(int *);
using async_call = CUfileError_t (*)(CUfileHandle_t, void *, size_t *, off_t *, off_t *, ssize_t *, CUstream);
using stream_call = CUfileError_t (*)(CUstream, unsigned int);

class cufile_api {
public:
	decltype(cuFileHandleRegister) *handle_register;
	decltype(cuFileHandleDeregister) *handle_deregister;
	decltype(cuFileRead) *read;
	decltype(cuFileWrite) *write;
	decltype(cuFileBufRegister) *buffer_register;
	decltype(cuFileBufDeregister) *buffer_deregister;
	decltype(cuFileDriverOpen) *driver_open;
	decltype(cuFileDriverOpen) *driver_close;
	decltype(cuFileDriverGetProperties) *get_properties;
	/* Not in all that there ever were. */
	decltype(cuFileBatchIOSetUp) *batch_begin = nullptr;
	decltype(cuFileBatchIOSubmit) *batch_submit = nullptr;
	decltype(cuFileBatchIOGetStatus) *batch_status = nullptr;
	decltype(cuFileBatchIODestroy) *batch_end = nullptr;
	async_call read_async = nullptr, write_async = nullptr;
	stream_call stream_register = nullptr;
	CUfileError_t (*stream_deregister)(CUstream) = nullptr;
	int (*get_counts)(counts *);
	int version = 0;

	static cufile_api &instance()
	{
		static cufile_api api;

		return api;
	}

	bool has_streams() const
	{
		return version >= 1070 && read_async && write_async && stream_register && stream_deregister;
	}

private:
	library lib{ { "libcufile.so.1", "libcufile.so.0", "libcufile.so" } };

	cufile_api()
	{
		lib.get(handle_register, "cuFileHandleRegister");
		lib.get(handle_deregister, "cuFileHandleDeregister");
		lib.get(read, "cuFileRead");
		lib.get(write, "cuFileWrite");
		lib.get(buffer_register, "cuFileBufRegister");
		lib.get(buffer_deregister, "cuFileBufDeregister");
		lib.get(driver_open, "cuFileDriverOpen");
		lib.get(get_properties, "cuFileDriverGetProperties");
		if (!lib.find(driver_close, "cuFileDriverClose_v2"))
			lib.get(driver_close, "cuFileDriverClose");
		find_younger();
		lib.get(get_counts, "donard_cufile_counts");
	}

	void find_younger()
	{
		version_call get_version;

		if (lib.find(get_version, "cuFileGetVersion") && get_version(&version).err != CU_FILE_SUCCESS)
			version = 0;
		lib.find(batch_begin, "cuFileBatchIOSetUp");
		lib.find(batch_submit, "cuFileBatchIOSubmit");
		lib.find(batch_status, "cuFileBatchIOGetStatus");
		lib.find(batch_end, "cuFileBatchIODestroy");
		lib.find(read_async, "cuFileReadAsync");
		lib.find(write_async, "cuFileWriteAsync");
		lib.find(stream_register, "cuFileStreamRegister");
		lib.find(stream_deregister, "cuFileStreamDeregister");
	}
};

void check(const char *what, const CUfileError_t &error)
{
	equal(what, CU_FILE_SUCCESS, error.err);
}

/* ---- what a wrapper's user has ---- */

class driver {
public:
	driver() { check("open", cufile_api::instance().driver_open()); }
	~driver() { cufile_api::instance().driver_close(); }
};

class file_handle {
public:
	file_handle(const char *path, int flags) : fd(open(path, flags))
	{
		CUfileDescr_t descriptor{};

		descriptor.type = CU_FILE_HANDLE_TYPE_OPAQUE_FD;
		descriptor.handle.fd = fd;
		check("file", cufile_api::instance().handle_register(&handle, &descriptor));
	}

	~file_handle()
	{
		cufile_api::instance().handle_deregister(handle);
		close(fd);
	}

	/* In tasks of a few threads. */
	size_t move(bool writes, void *memory, size_t bytes) const
	{
		std::vector<std::future<ssize_t>> tasks;
		size_t moved = 0;

		for (size_t at = 0; at < bytes; at += TASK_BYTES)
			tasks.push_back(std::async(std::launch::async, [=, this_handle = handle] {
				const cufile_api &api = cufile_api::instance();
				size_t size = std::min(TASK_BYTES, bytes - at);

				return writes ? api.write(this_handle, memory, size, at, at) :
						api.read(this_handle, memory, size, at, at);
			}));
		for (auto &task : tasks) {
			ssize_t result = task.get();

			if (result < 0)
				throw std::runtime_error("a task: " + std::to_string(result));
			moved += result;
		}
		return moved;
	}

	CUfileHandle_t get() const { return handle; }

private:
	int fd;
	CUfileHandle_t handle{};
};

class registered {
public:
	registered(void *memory, size_t bytes) : memory(memory)
	{
		check("buffer", cufile_api::instance().buffer_register(memory, bytes, 0));
	}

	~registered() { cufile_api::instance().buffer_deregister(memory); }

private:
	void *memory;
};

/* ---- memory ---- */

struct memory {
	virtual ~memory() = default;
	virtual void put(const void *from) = 0;
	virtual std::vector<char> get() = 0;
	virtual void wait() {}
	void *address = nullptr;
	CUstream stream = nullptr;
};

struct host_memory : memory {
	host_memory() { address = aligned_alloc(65536, BYTES); }
	~host_memory() override { free(address); }
	void put(const void *from) override { memcpy(address, from, BYTES); }
	std::vector<char> get() override
	{
		return { static_cast<char *>(address), static_cast<char *>(address) + BYTES };
	}
};

struct gpu_memory : memory {
	library lib{ { "libcuda.so.1" } };
	int (*to_device)(uint64_t, const void *, size_t);
	int (*to_host)(void *, uint64_t, size_t);
	int (*release)(uint64_t);
	int (*synchronize)(CUstream);

	gpu_memory()
	{
		int (*init)(unsigned int), (*device_get)(int *, int), (*context_create)(void **, unsigned int, int);
		int (*allocate)(uint64_t *, size_t), (*stream_create)(CUstream *, unsigned int);
		uint64_t pointer;
		void *context;
		int device;

		lib.get(to_device, "cuMemcpyHtoD_v2");
		lib.get(to_host, "cuMemcpyDtoH_v2");
		lib.get(release, "cuMemFree_v2");
		lib.get(synchronize, "cuStreamSynchronize");
		lib.get(init, "cuInit");
		lib.get(device_get, "cuDeviceGet");
		lib.get(context_create, "cuCtxCreate_v2");
		lib.get(allocate, "cuMemAlloc_v2");
		lib.get(stream_create, "cuStreamCreate");
		equal("CUDA", 0, init(0) || device_get(&device, 0) || context_create(&context, 0, device) ||
		      allocate(&pointer, BYTES) || stream_create(&stream, 1));
		address = reinterpret_cast<void *>(pointer);
	}

	~gpu_memory() override { release(reinterpret_cast<uint64_t>(address)); }
	void wait() override { equal("cuStreamSynchronize()", 0, synchronize(stream)); }

	void put(const void *from) override
	{
		equal("cuMemcpyHtoD()", 0, to_device(reinterpret_cast<uint64_t>(address), from, BYTES));
	}

	std::vector<char> get() override
	{
		std::vector<char> data(BYTES);

		equal("cuMemcpyDtoH()", 0, to_host(data.data(), reinterpret_cast<uint64_t>(address), BYTES));
		return data;
	}
};

/* ---- what it does ---- */

/* Other bytes than the file has, so that a write that does nothing shows. */
void put_others(memory &memory, std::vector<char> &data)
{
	std::reverse(data.begin(), data.end());
	data[0]++;
	memory.put(data.data());
}

void by_tasks(const file_handle &file, memory &memory, std::vector<char> &data)
{
	equal("bytes read", BYTES, file.move(false, memory.address, BYTES));
	equal("data as read", 1, memory.get() == data);
	put_others(memory, data);
	equal("bytes written", BYTES, file.move(true, memory.address, BYTES));
}

void by_batch(const file_handle &file, memory &memory, const std::vector<char> &data)
{
	const cufile_api &api = cufile_api::instance();
	constexpr unsigned int COUNT = BYTES / TASK_BYTES;
	std::vector<CUfileIOParams_t> requests(COUNT);
	std::vector<CUfileIOEvents_t> events(COUNT);
	CUfileBatchHandle_t batch;
	unsigned int done = COUNT;

	for (unsigned int i = 0; i < COUNT; i++) {
		requests[i].mode = CUFILE_BATCH;
		requests[i].fh = file.get();
		requests[i].opcode = CUFILE_READ;
		requests[i].u.batch.devPtr_base = memory.address;
		requests[i].u.batch.file_offset = requests[i].u.batch.devPtr_offset = i * TASK_BYTES;
		requests[i].u.batch.size = TASK_BYTES;
	}
	memory.put(std::vector<char>(BYTES).data());
	check("batch", api.batch_begin(&batch, COUNT));
	check("submission", api.batch_submit(batch, COUNT, requests.data(), 0));
	check("status", api.batch_status(batch, COUNT, &done, events.data(), nullptr));
	equal("events", COUNT, done);
	for (const CUfileIOEvents_t &event : events) {
		equal("status of an event", CUFILE_COMPLETE, event.status);
		equal("bytes of an event", TASK_BYTES, event.ret);
	}
	api.batch_end(batch);
	equal("data of the batch", 1, memory.get() == data);
}

void by_stream(const file_handle &file, memory &memory, std::vector<char> &data)
{
	const cufile_api &api = cufile_api::instance();
	ssize_t got = 0, put = 0;
	size_t bytes = BYTES;
	off_t at = 0, offset = 0;

	memory.put(std::vector<char>(BYTES).data());
	check("stream", api.stream_register(memory.stream, 15));
	check("read", api.read_async(file.get(), memory.address, &bytes, &at, &offset, &got, memory.stream));
	memory.wait();
	equal("data of the stream", 1, memory.get() == data);
	put_others(memory, data);
	check("write", api.write_async(file.get(), memory.address, &bytes, &at, &offset, &put, memory.stream));
	memory.wait();
	check("its end", api.stream_deregister(memory.stream));
	equal("bytes read", BYTES, got);
	equal("bytes written", BYTES, put);
}

void check_counts(bool compat)
{
	counts seen{};

	seen.size = sizeof(seen);
	equal("counts", 0, cufile_api::instance().get_counts(&seen));
	equal("failures", 0, seen.failures);
	equal("bytes", 5 * BYTES, seen.read_bytes + seen.written_bytes);
	equal("bytes staged", 0, seen.staged_bytes);
	equal("bytes in compatibility mode", compat ? 5 * BYTES : 0, seen.compat_bytes);
	std::printf("%zu bytes, %llu of them in compatibility mode\n", 5 * BYTES,
		    static_cast<unsigned long long>(seen.compat_bytes));
}

std::vector<char> make_file(const char *path)
{
	std::vector<char> data(BYTES);
	int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);

	for (size_t i = 0; i < BYTES; i++)
		data[i] = static_cast<char>(i * 2654435761U >> 23);
	equal("write()", BYTES, write(fd, data.data(), BYTES));
	equal("fsync()", 0, fsync(fd));
	close(fd);
	return data;
}

void check_file(const char *path, const std::vector<char> &data)
{
	std::vector<char> seen(BYTES);
	int fd = open(path, O_RDONLY);

	equal("read()", BYTES, read(fd, seen.data(), BYTES));
	close(fd);
	equal("data of the file", 1, seen == data);
}

void run(const char *path, memory &memory, bool compat)
{
	std::vector<char> data = make_file(path);
	driver driver;
	CUfileDrvProps_t properties;

	equal("version", 1090, cufile_api::instance().version);
	equal("has streams", 1, cufile_api::instance().has_streams());
	check("properties", cufile_api::instance().get_properties(&properties));
	{
		file_handle file(path, O_RDWR | O_DIRECT);
		registered buffer(memory.address, BYTES);

		by_tasks(file, memory, data);
		by_batch(file, memory, data);
		by_stream(file, memory, data);
	}
	check_file(path, data);
	check_counts(compat);
}

} /* namespace */

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	try {
		std::unique_ptr<memory> memory;

		if (std::string(argv[2]) == "gpu")
			memory = std::make_unique<gpu_memory>();
		else
			memory = std::make_unique<host_memory>();
		run(argv[1], *memory, std::string(argv[3]) == "compat");
	} catch (const std::exception &error) {
		std::printf("%s\n", error.what());
		return 1;
	}
	return 0;
}
