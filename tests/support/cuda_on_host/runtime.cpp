// Devices, memory, streams and events of CUDA on the host.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <iterator>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/rng.hpp"
#include "world.hpp"

using Clock = std::chrono::steady_clock;

/// Runs its operations one after the other in a separate thread.
struct CUstream_st {
  CUstream_st(int of_device, int of_priority, const tandem::cuda_on_host::Settings& settings)
      : device(of_device),
        priority(of_priority),
        longest_delay_us(settings.longest_delay_us),
        random(settings.seed) {
    worker = std::thread([this] { work(); });
  }
  ~CUstream_st() {
    {
      const std::lock_guard lock(mutex);
      ends = true;
    }
    changed.notify_all();
    worker.join();
  }
  void submit(std::function<void()> operation) {
    {
      const std::lock_guard lock(mutex);
      operations.push_back(std::move(operation));
    }
    changed.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return operations.empty(); });
  }

  int device;
  int priority;

 private:
  void work() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [this] { return ends || !operations.empty(); });
      if (operations.empty()) return;
      const auto operation = operations.front();
      lock.unlock();
      const auto longest = static_cast<std::uint64_t>(longest_delay_us) + 1;
      std::this_thread::sleep_for(std::chrono::microseconds(random.below(longest)));
      operation();
      lock.lock();
      operations.pop_front();
      changed.notify_all();
    }
  }

  int longest_delay_us;
  tandem::Rng random;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> operations;
  bool ends = false;
  std::thread worker;
};

struct CUevent_st {
  int device;
  bool is_timed = true;
  int pending = 0;  ///< records that streams have not reached yet
  bool was_recorded = false;
  bool is_destroyed = false;  ///< freed when it is reached
  Clock::time_point reached = {};
};

namespace tandem::cuda_on_host {

World& world() {
  static World only;
  return only;
}

thread_local int current_device = 0;
thread_local cudaError_t last_error = cudaSuccess;

cudaError_t said(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

std::byte* map_memory(std::size_t bytes, int file) {
  const int flags = file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, file, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return static_cast<std::byte*>(memory);
}

void wait_for_streams() {
  std::vector<CUstream_st*> streams;
  {
    const std::lock_guard lock(world().mutex);
    streams = world().streams;
  }
  for (CUstream_st* stream : streams) stream->wait();
}

cudaError_t free_range(std::map<const std::byte*, Range>& ranges, void* memory) {
  if (memory == nullptr) return cudaSuccess;
  Range range;
  {
    const std::lock_guard lock(world().mutex);
    const auto found = ranges.find(static_cast<const std::byte*>(memory));
    if (found == ranges.end()) return said(cudaErrorInvalidValue);
    range = found->second;
    ranges.erase(found);
  }
  wait_for_streams();
  if (range.file >= 0) close(range.file);
  if (range.is_mapped)
    munmap(memory, range.bytes);
  else
    ::operator delete(memory, alignment);
  return cudaSuccess;
}

namespace {

constexpr std::size_t least_mapped = 64 * 1024;

bool is_within(const std::map<const std::byte*, Range>& ranges, const void* memory, std::size_t bytes) {
  const auto* const place = static_cast<const std::byte*>(memory);
  const auto after = ranges.upper_bound(place);
  if (after == ranges.begin()) return false;
  const auto& [begin, range] = *std::prev(after);
  return place + bytes <= begin + range.bytes;
}
bool begins_within(const std::map<const std::byte*, Range>& ranges, const void* memory) {
  return is_within(ranges, memory, 1);
}

std::size_t used_bytes(const std::map<const std::byte*, Range>& ranges, int device) {
  std::size_t used = 0;
  for (const auto& [begin, range] : ranges)
    if (device < 0 || range.device == device) used += range.bytes;
  return used;
}

/// Fills new memory with non-zero bytes, so that code cannot rely on zeros.
std::byte* make_range(std::map<const std::byte*, Range>& ranges, std::size_t bytes, int device) {
  const bool is_mapped = device >= 0 && bytes >= least_mapped;
  auto* const memory =
      is_mapped ? map_memory(bytes, /*file=*/-1) : static_cast<std::byte*>(::operator new(bytes, alignment));
  std::memset(memory, 0xa5, bytes);
  ranges.emplace(memory, Range{bytes, device, ++world().ranges, is_mapped});
  return memory;
}

}  // namespace

bool is_default(cudaStream_t stream) { return stream == nullptr || stream == cudaStreamLegacy; }

cudaError_t submit(cudaStream_t stream, std::function<void()> operation) {
  if (is_default(stream)) {
    operation();
    return cudaSuccess;
  }
  if (stream->device != current_device) return said(cudaErrorInvalidResourceHandle);
  stream->submit(std::move(operation));
  return cudaSuccess;
}

void reset(const Settings& settings) {
  const std::lock_guard lock(world().mutex);
  TANDEM_CHECK(world().device_ranges.empty() && world().pinned_ranges.empty() && world().streams.empty() &&
                   world().opened_ranges.empty(),
               world().device_ranges.size(), world().pinned_ranges.size(), world().streams.size(),
               world().opened_ranges.size());
  world().settings = settings;
  world().calls.clear();
  world().launches.clear();
  world().failing.clear();
  current_device = 0;
  last_error = cudaSuccess;
}
void fail_call(const std::string& name, int number, cudaError_t error) {
  const std::lock_guard lock(world().mutex);
  world().failing[name] = {number, error};
}
std::map<std::string, int> calls() {
  const std::lock_guard lock(world().mutex);
  return world().calls;
}
std::map<int, int> launches() {
  const std::lock_guard lock(world().mutex);
  return world().launches;
}
void note_launch() {
  const std::lock_guard lock(world().mutex);
  ++world().launches[current_device];
}
std::map<int, int> streams_by_priority() {
  const std::lock_guard lock(world().mutex);
  std::map<int, int> numbers;
  for (const CUstream_st* stream : world().streams) ++numbers[stream->priority];
  return numbers;
}
Settings settings() {
  const std::lock_guard lock(world().mutex);
  return world().settings;
}
Remaining remaining() {
  const std::lock_guard lock(world().mutex);
  return {used_bytes(world().device_ranges, -1) + used_bytes(world().opened_ranges, -1),
          used_bytes(world().pinned_ranges, -1), static_cast<int>(world().streams.size()), world().events};
}

bool is_device_memory(const void* memory, std::size_t bytes) {
  const std::lock_guard lock(world().mutex);
  return is_within(world().device_ranges, memory, bytes);
}

std::uint64_t allocation_number(const void* memory) {
  const std::lock_guard lock(world().mutex);
  if (!begins_within(world().device_ranges, memory)) return 0;
  return std::prev(world().device_ranges.upper_bound(static_cast<const std::byte*>(memory)))->second.number;
}

cudaError_t begin_call(const char* name) {
  const std::lock_guard lock(world().mutex);
  ++world().calls[name];
  const auto failing = world().failing.find(name);
  if (failing == world().failing.end() || --failing->second.in > 0) return cudaSuccess;
  const cudaError_t error = failing->second.error;
  world().failing.erase(failing);
  return said(error);
}

}  // namespace tandem::cuda_on_host

using namespace tandem::cuda_on_host;

cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }

// ---- Devices ----

cudaError_t cudaDriverGetVersion(int* version) {
  TANDEM_BEGIN_CALL();
  *version = settings().driver_version;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  TANDEM_BEGIN_CALL();
  *version = 13000;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int* count) {
  TANDEM_BEGIN_CALL();
  const Settings own = settings();
  *count = own.devices;
  return said(own.count_error);
}
cudaError_t cudaGetDevice(int* device) {
  TANDEM_BEGIN_CALL();
  *device = current_device;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  TANDEM_BEGIN_CALL();
  if (device < 0 || device >= settings().devices) return said(cudaErrorInvalidDevice);
  current_device = device;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int) {
  TANDEM_BEGIN_CALL();
  *value = settings().multiprocessors;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  TANDEM_BEGIN_CALL();
  if (device < 0 || device >= settings().devices) return said(cudaErrorInvalidDevice);
  std::strcpy(properties->name, "CUDA on the host");
  properties->major = 9;
  properties->minor = 0;
  // The same device identities for every process of the machine.
  properties->uuid = {};
  std::memcpy(properties->uuid.bytes, &device, sizeof(device));
  return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char* address, int length, int device) {
  TANDEM_BEGIN_CALL();
  if (device < 0 || device >= settings().devices) return said(cudaErrorInvalidDevice);
  std::snprintf(address, static_cast<std::size_t>(length), "0000:%02x:00.0",
                static_cast<unsigned>(device + 1));
  return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  TANDEM_BEGIN_CALL();
  attributes->binaryVersion = 90;
  return cudaSuccess;
}

// ---- Memory ----

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  TANDEM_BEGIN_CALL();
  const std::lock_guard lock(world().mutex);
  const std::size_t used = used_bytes(world().device_ranges, current_device);
  if (bytes > world().settings.memory_bytes - used) return said(cudaErrorMemoryAllocation);
  *memory = make_range(world().device_ranges, bytes, current_device);
  return cudaSuccess;
}
cudaError_t cudaFree(void* memory) {
  TANDEM_BEGIN_CALL();
  return free_range(world().device_ranges, memory);
}
cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned) {
  TANDEM_BEGIN_CALL();
  const std::lock_guard lock(world().mutex);
  if (bytes > world().settings.pinned_bytes - used_bytes(world().pinned_ranges, -1))
    return said(cudaErrorMemoryAllocation);
  *memory = make_range(world().pinned_ranges, bytes, -1);
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* memory) {
  TANDEM_BEGIN_CALL();
  return free_range(world().pinned_ranges, memory);
}
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  TANDEM_BEGIN_CALL();
  const std::lock_guard lock(world().mutex);
  *total = world().settings.memory_bytes;
  *free = *total - used_bytes(world().device_ranges, current_device);
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t stream) {
  TANDEM_BEGIN_CALL();
  {
    const std::lock_guard lock(world().mutex);
    if (!is_within(world().device_ranges, memory, bytes)) return said(cudaErrorInvalidValue);
  }
  return submit(stream, [=] { std::memset(memory, value, bytes); });
}

namespace {
/// Checks one side of a copy: it must lie within one allocation if it begins in one, and in device memory if
/// required. For copies that name their direction, and are not in the default stream, the other side must be
/// pinned: CUDA does not check that, but copies of pageable memory are not concurrent.
bool is_side(const void* memory, std::size_t bytes, bool must_be_device, bool must_be_pinned) {
  const World& all = world();
  if (begins_within(all.opened_ranges, memory)) return is_within(all.opened_ranges, memory, bytes);
  if (must_be_device) return is_within(all.device_ranges, memory, bytes);
  if (begins_within(all.device_ranges, memory)) return is_within(all.device_ranges, memory, bytes);
  const bool is_pinned = begins_within(all.pinned_ranges, memory);
  return is_pinned ? is_within(all.pinned_ranges, memory, bytes) : !must_be_pinned;
}
bool is_pageable_memory(const void* memory) {
  const std::lock_guard lock(world().mutex);
  return !begins_within(world().device_ranges, memory) && !begins_within(world().pinned_ranges, memory) &&
         !begins_within(world().opened_ranges, memory);
}
}  // namespace

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  TANDEM_BEGIN_CALL();
  {
    const std::lock_guard lock(world().mutex);
    const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    const bool is_concurrent = !is_default(stream) && kind != cudaMemcpyDefault;
    if (!is_side(to, bytes, to_device, is_concurrent) || !is_side(from, bytes, from_device, is_concurrent))
      return said(cudaErrorInvalidValue);
  }
  const bool is_pageable = is_pageable_memory(to) || is_pageable_memory(from);
  const cudaError_t error = submit(stream, [=] { std::memmove(to, from, bytes); });
  // As CUDA: the caller may change or free pageable memory at once.
  if (error == cudaSuccess && is_pageable && !is_default(stream)) stream->wait();
  return error;
}

// ---- Streams ----

namespace {
constexpr int least_priority = 0;
constexpr int greatest_priority = -5;

cudaError_t make_stream(cudaStream_t* stream, unsigned flags, int priority) {
  // Blocking streams would have to wait for the default stream.
  if (flags != cudaStreamNonBlocking) return said(cudaErrorNotSupported);
  *stream =
      new CUstream_st(current_device, std::clamp(priority, greatest_priority, least_priority), settings());
  const std::lock_guard lock(world().mutex);
  world().streams.push_back(*stream);
  return cudaSuccess;
}
}  // namespace

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  TANDEM_BEGIN_CALL();
  return make_stream(stream, flags, least_priority);
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  TANDEM_BEGIN_CALL();
  return make_stream(stream, flags, priority);
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  TANDEM_BEGIN_CALL();
  *least = least_priority;
  *greatest = greatest_priority;
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  TANDEM_BEGIN_CALL();
  {
    const std::lock_guard lock(world().mutex);
    std::erase(world().streams, stream);
  }
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  TANDEM_BEGIN_CALL();
  if (!is_default(stream)) stream->wait();
  return cudaSuccess;
}

// ---- Events ----

namespace {
cudaError_t make_event(cudaEvent_t* event, bool is_timed) {
  *event = new CUevent_st{.device = current_device, .is_timed = is_timed};
  const std::lock_guard lock(world().mutex);
  ++world().events;
  return cudaSuccess;
}
}  // namespace

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  TANDEM_BEGIN_CALL();
  return make_event(event, true);
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  TANDEM_BEGIN_CALL();
  if ((flags & ~cudaEventDisableTiming) != 0) return said(cudaErrorNotSupported);
  return make_event(event, flags == 0);
}
// Like CUDA's, it does not wait: if a stream has still to reach the event, the event is freed when it is
// reached.
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  TANDEM_BEGIN_CALL();
  const std::lock_guard lock(world().mutex);
  --world().events;
  if (event->pending == 0)
    delete event;
  else
    event->is_destroyed = true;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  TANDEM_BEGIN_CALL();
  if (event->device != (is_default(stream) ? current_device : stream->device))
    return said(cudaErrorInvalidResourceHandle);
  {
    const std::lock_guard lock(world().mutex);
    ++event->pending;
    event->was_recorded = true;
  }
  return submit(stream, [event] {
    const std::lock_guard lock(world().mutex);
    --event->pending;
    event->reached = Clock::now();
    if (event->is_destroyed && event->pending == 0) delete event;
  });
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  TANDEM_BEGIN_CALL();
  const std::lock_guard lock(world().mutex);
  return said(event->pending == 0 ? cudaSuccess : cudaErrorNotReady);
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  TANDEM_BEGIN_CALL();
  const std::lock_guard lock(world().mutex);
  if (!begin->was_recorded || !end->was_recorded || !begin->is_timed || !end->is_timed)
    return said(cudaErrorInvalidResourceHandle);
  if (begin->pending > 0 || end->pending > 0) return said(cudaErrorNotReady);
  *milliseconds = std::chrono::duration<float, std::milli>(end->reached - begin->reached).count();
  return cudaSuccess;
}
