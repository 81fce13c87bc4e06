# SPDX-License-Identifier: Apache-2.0
# Unit tests: one program a file of tests/unit, linked with the library's objects.
UNIT_NAMES := $(patsubst tests/unit/%.c,%,$(sort $(wildcard tests/unit/test_*.c)))
UNIT_PROGS := $(addprefix $(BUILD)/tests/unit/,$(UNIT_NAMES))
comma      := ,
UNIT_HELP  := $(BUILD)/tests/unit/fake_sysfs.o

$(BUILD)/tests/unit/%.o: ALL_CFLAGS += -iquote lib -iquote .

# The objects that one test needs beside the library.
$(BUILD)/tests/unit/test_utf8: $(BUILD)/tool/utf8.o
$(BUILD)/tests/unit/test_utf8: UNIT_LIBS := -ljson-c
$(BUILD)/tests/unit/test_terms: $(BUILD)/tool/terms.o $(BUILD)/words/words.o
$(BUILD)/tests/unit/test_progress: $(BUILD)/tool/progress.o
$(BUILD)/tests/unit/test_fields.o: ALL_CFLAGS += -iquote tool
$(BUILD)/tests/unit/test_fields: $(addprefix $(BUILD)/tool/,fields.o output.o terms.o utf8.o) $(BUILD)/words/words.o
$(BUILD)/tests/unit/test_fields: UNIT_LIBS := -ljson-c -Wl$(comma)--wrap=dnd_make_printable
$(BUILD)/tests/unit/test_serverevent.o: ALL_CFLAGS += -iquote tool
$(BUILD)/tests/unit/test_serverevent: $(BUILD)/cli/serverevent.o $(addprefix $(BUILD)/tool/,fields.o output.o terms.o utf8.o) $(BUILD)/words/words.o
$(BUILD)/tests/unit/test_serverevent: UNIT_LIBS := -ljson-c -Wl$(comma)--wrap=poll
$(BUILD)/tests/unit/test_rdma: $(addprefix $(BUILD)/tool/rdma/,latency.o pass.o pattern.o)
$(BUILD)/tests/unit/test_rdma_register: UNIT_LIBS := -Wl$(comma)--wrap=dnd_route_probe
$(BUILD)/tests/unit/test_rdma_run.o: ALL_CFLAGS += -iquote tool
$(BUILD)/tests/unit/test_rdma_run: $(addprefix $(BUILD)/tool/,place.o $(addprefix rdma/,fail.o latency.o move.o pass.o pattern.o run.o service.o verify.o))
$(BUILD)/tests/unit/test_rdma_run: UNIT_LIBS := $(addprefix -Wl$(comma)--wrap=donard_,memory_info $(addprefix rdma_,connect close client_info attach \
	read write wait sync leave))
$(BUILD)/tests/unit/test_regionconf $(BUILD)/tests/unit/test_regionmatch: $(BUILD)/tool/similar.o \
	$(addprefix $(BUILD)/cli/,regionconf.o regionkeys.o regionmatch.o regionwrite.o)
$(BUILD)/tests/unit/test_regionconf $(BUILD)/tests/unit/test_regionmatch: UNIT_LIBS := -linih
$(BUILD)/tests/unit/test_regionconf: UNIT_LIBS += -Wl$(comma)--wrap=getgrnam
$(BUILD)/tests/unit/test_regionmatch: UNIT_LIBS += $(addprefix -Wl$(comma)--wrap=,getpwuid getgrgid getpwnam getgrnam)
$(BUILD)/tests/unit/test_owndriver: $(BUILD)/cli/owndriver.o

CUFILE_TESTS := $(addprefix $(BUILD)/tests/unit/,test_cufile test_cufile_io test_cufile_async \
	test_cufile_cuda test_cufile_deregister test_cufile_faults test_cufile_fork)
$(CUFILE_TESTS): $(CUFILE_OBJS) $(addprefix $(BUILD)/tests/unit/,cufile_scene.o cufile_gpu.o)
$(CUFILE_TESTS): UNIT_LIBS := -ljson-c
# The other tests show that libdonard does without.
METER_TESTS := $(addprefix $(BUILD)/tests/unit/,test_handles test_meter test_meter_parse)
$(METER_TESTS): $(METER_OBJS)
COPY_TESTS := $(addprefix $(BUILD)/tests/unit/,test_cache_handles test_copy test_copy_between test_copy_causes test_copy_left \
	test_copy_meanwhile test_identity test_interval)
$(COPY_TESTS): $(BUILD)/tests/unit/copy_scene.o

$(BUILD)/tests/unit/test_size: UNIT_LIBS := -Wl$(comma)--wrap=strcasecmp

# These tests must not depend on whether fsync() is durable on this machine's file system.
FLUSHED_TESTS := $(addprefix $(BUILD)/tests/unit/,test_cache_handles test_copy_meanwhile test_queue)
$(FLUSHED_TESTS): UNIT_LIBS += $(addprefix -Wl$(comma)--wrap=dnd_file_,is_flushed journal_is_inside)
$(BUILD)/tests/unit/test_copy_meanwhile: UNIT_LIBS += -Wl$(comma)--wrap=dnd_drive_look_and_judge

CACHE_LOG_TESTS := $(addprefix $(BUILD)/tests/unit/,test_cache_recover test_cache_place test_cache_start)
$(CACHE_LOG_TESTS): $(BUILD)/tests/unit/cache_nvram.o
# Calls that fail when a test says so.
$(BUILD)/tests/unit/test_gpu: UNIT_LIBS := $(addprefix -Wl$(comma)--wrap=,dlopen dlsym dlerror dlclose)
$(BUILD)/tests/unit/test_cufile: UNIT_LIBS += -Wl$(comma)--wrap=strcasecmp
$(BUILD)/tests/unit/test_cufile_cuda: UNIT_LIBS += $(addprefix -Wl$(comma)--wrap=,dl_iterate_phdr dlopen dlsym)
$(BUILD)/tests/unit/test_cufile_fork: UNIT_LIBS += -Wl$(comma)--wrap=localtime_r
$(BUILD)/tests/unit/test_cufile_faults: UNIT_LIBS += $(addprefix -Wl$(comma)--wrap=,__open_2 fstatfs ftruncate open pread pthread_create pwrite \
	donard_file_info donard_memory_from_host donard_open $(addprefix donard_queue_,open flush poll wait write))

CACHE_SERVER_TESTS := $(addprefix $(BUILD)/tests/unit/,test_cache_order test_cache_turns)
$(CACHE_SERVER_TESTS): $(BUILD)/tests/unit/cache_scene.o
$(CACHE_SERVER_TESTS): UNIT_LIBS := $(addprefix -Wl$(comma)--wrap=,dnd_cache_answer \
	dnd_cache_blocks_drop_range dnd_cache_session_send dnd_drive_is_durable_now dnd_drive_lost dnd_now_ns \
	dnd_trimmer_begin dnd_trimmer_done realloc $(addprefix donard_queue_,read write flush))
$(BUILD)/tests/unit/test_cache_client: UNIT_LIBS := -Wl$(comma)--wrap=rdma_destroy_qp \
	$(addprefix -Wl$(comma)--wrap=dnd_,$(addprefix link_,arm close disarm poll) reach_find reach_take_events register unregister)
$(BUILD)/tests/unit/test_cache_session: UNIT_LIBS := $(addprefix -Wl$(comma)--wrap=dnd_,register unregister \
	$(addprefix link_,arm close disarm open poll send))
$(BUILD)/tests/unit/test_cache_start: UNIT_LIBS := $(addprefix -Wl$(comma)--wrap=,open pread)
$(BUILD)/tests/unit/test_cache_trimmer: UNIT_LIBS := -Wl$(comma)--wrap=fallocate
$(BUILD)/tests/unit/test_cache_handles: UNIT_LIBS += $(addprefix -Wl$(comma)--wrap=dnd_,listen $(addprefix listener_,open next close))
$(BUILD)/tests/unit/test_cache_report: UNIT_LIBS := $(addprefix -Wl$(comma)--wrap=,bind mkdir dnd_backing_identity dnd_cache_blocks_init dnd_now_ns \
	$(addprefix donard_,file_info $(addprefix queue_,open register read wait)))

QUEUE_TESTS := $(addprefix $(BUILD)/tests/unit/,test_queue test_queue_attach test_queue_cancel test_queue_gpu test_queue_pages)
$(QUEUE_TESTS): $(BUILD)/tests/unit/queue_scene.o
$(BUILD)/tests/unit/test_queue_source: UNIT_LIBS := $(addprefix -Wl$(comma)--wrap=,dnd_queue_reap io_uring_queue_init_params)
$(BUILD)/tests/unit/test_memory: UNIT_LIBS := $(addprefix -Wl$(comma)--wrap=,fopen poll syscall process_vm_readv)
$(BUILD)/tests/unit/test_copy_gpu: UNIT_LIBS := -Wl$(comma)--wrap=io_uring_register_buffers_update_tag
$(BUILD)/tests/unit/test_engine: UNIT_LIBS := $(addprefix -Wl$(comma)--wrap=,pread syscall \
	$(addprefix io_uring_,queue_init_params submit submit_and_wait))
$(BUILD)/tests/unit/test_queue: UNIT_LIBS += $(addprefix -Wl$(comma)--wrap=,dnd_drive_ask_again dnd_join_check_file dnd_join_failed \
	dnd_now_seconds io_uring_queue_init_params)
$(BUILD)/tests/unit/test_queue_attach: UNIT_LIBS := $(addprefix -Wl$(comma)--wrap=,dnd_ring_vet syscall \
	io_uring_queue_init_params io_uring_register_buffers_update_tag)
$(BUILD)/tests/unit/test_queue_cancel: UNIT_LIBS := -Wl$(comma)--wrap=io_uring_queue_init_params
$(BUILD)/tests/unit/test_queue_gpu: UNIT_LIBS := -Wl$(comma)--wrap=io_uring_queue_init_params
$(BUILD)/tests/unit/test_queue_pages: UNIT_LIBS := -Wl$(comma)--wrap=io_uring_queue_init_params
$(BUILD)/tests/unit/test_reach: UNIT_LIBS := $(addprefix -Wl$(comma)--wrap=,poll dnd_dial dnd_now_seconds rdma_get_cm_event rdma_ack_cm_event)
$(BUILD)/tests/unit/test_listen: UNIT_LIBS := $(addprefix -Wl$(comma)--wrap=,access getifaddrs freeifaddrs)
$(BUILD)/tests/unit/test_rdma_client: UNIT_LIBS := $(addprefix -Wl$(comma)--wrap=,dnd_now_seconds rdma_get_cm_event rdma_ack_cm_event dnd_dmabuf_sync \
	dnd_reach_find dnd_register dnd_unregister)
$(BUILD)/tests/unit/test_rdma_session: UNIT_LIBS := $(addprefix -Wl$(comma)--wrap=dnd_,dmabuf_sync region_try_sync link_open register)
$(BUILD)/tests/unit/test_rdma_server: UNIT_LIBS := $(addprefix -Wl$(comma)--wrap=,donard_memory_zero dnd_listen \
	$(addprefix dnd_,region_resets region_try_sync) $(addprefix dnd_listener_,open next close) \
	$(addprefix dnd_session_,begin serve end reject))

$(BUILD)/tests/unit/test_join_fail: UNIT_LIBS := $(addprefix -Wl$(comma)--wrap=dnd_,drive_lost region_try_sync)
$(BUILD)/tests/unit/test_legs: UNIT_LIBS := $(addprefix -Wl$(comma)--wrap=dnd_,drive_look_again drive_open_leg join_probe)
$(BUILD)/tests/unit/test_residency: UNIT_LIBS := $(addprefix -Wl$(comma)--wrap=dnd_drive_,is_direct ask_again)
$(BUILD)/tests/unit/test_identity: UNIT_LIBS := -Wl$(comma)--wrap=dnd_mounts_each
$(BUILD)/tests/unit/test_candidates: UNIT_LIBS := $(addprefix -Wl$(comma)--wrap=,dnd_config_read uname)
$(BUILD)/tests/unit/test_lists: UNIT_LIBS := -Wl$(comma)--wrap=dnd_text_at

# The thread alone, without nbdkit.
$(BUILD)/tests/unit/test_nbd_worker: $(BUILD)/nbd/worker.o $(BUILD)/words/words.o
$(BUILD)/tests/unit/test_nbd_worker: UNIT_LIBS := $(addprefix -Wl$(comma)--wrap=donard_,\
	$(addprefix queue_,open close descriptor poll) $(addprefix cache_,connect close info register write read trim flush))

$(BUILD)/tests/unit/test_bench_gpu.o: ALL_CFLAGS += -iquote bench -iquote tool
$(BUILD)/tests/unit/test_bench_gpu: $(addprefix $(BUILD)/,$(addprefix bench/,cufile.o methods.o plain.o) tool/progress.o)
$(BUILD)/tests/unit/test_bench_gpu: UNIT_LIBS := -ljson-c $(addprefix -Wl$(comma)--wrap=,pread pwrite fsync dlopen dlsym)

$(BUILD)/tests/unit/test_bench_links.o: ALL_CFLAGS += -iquote tool
$(BUILD)/tests/unit/test_bench_links: $(BUILD)/bench/links.o $(addprefix $(BUILD)/tool/,output.o terms.o utf8.o) $(BUILD)/words/words.o
$(BUILD)/tests/unit/test_bench_links: UNIT_LIBS := -ljson-c -Wl$(comma)--wrap=donard_route_probe

$(BUILD)/tests/unit/test_bench_rdma.o: ALL_CFLAGS += -iquote tool
$(BUILD)/tests/unit/test_bench_rdma: $(addprefix $(BUILD)/,bench/rdma.o words/words.o $(addprefix tool/,fields.o output.o place.o process.o \
	progress.o terms.o utf8.o $(addprefix rdma/,json.o latency.o))) $(METER_OBJS)
$(BUILD)/tests/unit/test_bench_rdma: UNIT_LIBS := -ljson-c $(addprefix -Wl$(comma)--wrap=,cli_rdma_run cli_stopped)

$(BUILD)/tests/unit/test_perftest.o: ALL_CFLAGS += -iquote tool
$(BUILD)/tests/unit/test_perftest: $(addprefix $(BUILD)/,bench/perftest.o $(addprefix tool/,output.o process.o progress.o utf8.o)) $(METER_OBJS)
$(BUILD)/tests/unit/test_perftest: UNIT_LIBS := -ljson-c $(addprefix -Wl$(comma)--wrap=,fork memfd_create)

DOCTOR_TESTS := $(addprefix $(BUILD)/tests/unit/,test_doctor test_prove_nic)
$(addsuffix .o,$(DOCTOR_TESTS)): ALL_CFLAGS += -iquote tool
$(DOCTOR_TESTS): $(addprefix $(BUILD)/cli/doctor/,check_clients.o check_direct_map.o check_nodes.o codes.o compare.o find.o kernel.o loopback.o pairs.o pci.o prove.o \
	prove_nic.o route.o source.o trial.o) $(addprefix $(BUILD)/tool/,fields.o output.o terms.o utf8.o) $(addprefix $(BUILD)/,words/words.o kernel/path.o)
$(DOCTOR_TESTS): UNIT_LIBS := -ljson-c
$(BUILD)/tests/unit/test_prove_nic: UNIT_LIBS += $(addprefix -Wl$(comma)--wrap=,ibv_query_port \
	$(addprefix donard_memory_,alloc claim sync) $(addprefix donard_rdma_,deregister open_device register registration_info))

# The lab's devices, and a client of theirs.
DEVICE_TESTS := $(addprefix $(BUILD)/tests/unit/,test_vfio_server test_vfio_dma test_ntb)
$(DEVICE_TESTS): $(BUILD)/tests/unit/vfio_client.o \
	$(addprefix $(BUILD)/tests/rig/devices/,server.o dma.o pci.o listen.o)
$(BUILD)/tests/unit/test_ntb: $(BUILD)/tests/rig/devices/ntb.o

$(UNIT_PROGS): %: %.o $(UNIT_HELP) $(BUILD)/libdonard.a
	$(CC) $(CFLAGS) $(LDFLAGS) -pthread -o $@ $(filter %.o,$^) $(BUILD)/libdonard.a \
		$(LIB_LIBS) -lcmocka $(UNIT_LIBS)

.SECONDARY: $(addsuffix .o,$(UNIT_PROGS))

# Far longer than any test takes under valgrind on a busy host.
UNIT_SECONDS := 1200

unit: $(UNIT_PROGS)
	@status=0; for t in $(UNIT_PROGS); do timeout --foreground $(UNIT_SECONDS) $(UNIT_RUNNER) $$t || { \
		[ $$? != 124 ] || echo "not ok - $$t: no end after $(UNIT_SECONDS) s"; status=1; }; done; exit $$status

# A debug build, too: no test uses a freed handle, and test_handles sees those found that do.
unit-asan:
	$(MAKE) DEBUG=1 BUILD=$(BUILD)/asan \
		CFLAGS='-O0 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all' unit

unit-tsan:
	$(MAKE) BUILD=$(BUILD)/tsan CFLAGS='-O1 -g -fsanitize=thread' unit

VALGRIND := valgrind -q --leak-check=full --error-exitcode=9 --suppressions=tests/unit/valgrind.supp

unit-valgrind:
	$(MAKE) UNIT_RUNNER='$(VALGRIND)' unit

-include $(addsuffix .d,$(UNIT_PROGS)) $(BUILD)/tests/unit/cufile_scene.d $(BUILD)/tests/unit/cufile_gpu.d \
	$(BUILD)/tests/unit/cache_nvram.d $(BUILD)/tests/unit/copy_scene.d $(BUILD)/tests/unit/queue_scene.d \
	$(BUILD)/tests/unit/cache_scene.d $(BUILD)/tests/unit/vfio_client.d $(wildcard $(BUILD)/tests/rig/devices/*.d)
