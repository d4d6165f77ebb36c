// Memory of other processes: a file of the owning process, which the others open in /proc. Like CUDA's: a
// process cannot open its own memory; what was opened shows the old bytes after its owner has freed it, and
// after its owner has died.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "world.hpp"

using namespace tandem::cuda_on_host;

namespace {
struct OpenedFile {
  std::int32_t process;
  std::int32_t file;
  std::uint64_t bytes;
  std::uint64_t inode;  ///< the number of the file may be another file's by now
};
static_assert(sizeof(OpenedFile) <= sizeof(cudaIpcMemHandle_t));

std::uint64_t inode_of(int file) {
  struct stat status {};
  return fstat(file, &status) == 0 ? status.st_ino : 0;
}

/// Puts the pages of the range into a file, where they are. Pre: no stream uses them.
bool move_into_file(std::byte* memory, Range& range) {
  const int file = memfd_create("cuda_on_host", MFD_CLOEXEC);
  if (file < 0) return false;
  const bool is_written = ftruncate(file, static_cast<off_t>(range.bytes)) == 0;
  if (is_written) {
    std::byte* const copy = map_memory(range.bytes, file);
    std::memcpy(copy, memory, range.bytes);
    munmap(copy, range.bytes);
  }
  if (!is_written ||
      mmap(memory, range.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED) {
    close(file);
    return false;
  }
  range.file = file;
  return true;
}
}  // namespace

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* memory) {
  TANDEM_BEGIN_CALL();
  wait_for_streams();
  const std::lock_guard lock(world().mutex);
  if (!world().settings.is_shareable) return said(cudaErrorNotSupported);
  auto* const begin = static_cast<std::byte*>(memory);
  const auto found = world().device_ranges.find(begin);
  if (found == world().device_ranges.end()) return said(cudaErrorInvalidValue);
  Range& range = found->second;
  // CUDA shares small memory together with its neighbours, which the emulation does not do.
  if (!range.is_mapped || (range.file < 0 && !move_into_file(begin, range)))
    return said(cudaErrorNotSupported);
  const OpenedFile own{getpid(), range.file, range.bytes, inode_of(range.file)};
  *handle = {};
  std::memcpy(handle->reserved, &own, sizeof own);
  return cudaSuccess;
}

cudaError_t cudaIpcOpenMemHandle(void** memory, cudaIpcMemHandle_t handle, unsigned flags) {
  TANDEM_BEGIN_CALL();
  OpenedFile other;
  std::memcpy(&other, handle.reserved, sizeof other);
  if (flags != cudaIpcMemLazyEnablePeerAccess || other.bytes == 0) return said(cudaErrorInvalidValue);
  if (other.process == getpid()) return said(cudaErrorDeviceUninitialized);
  const std::string path = "/proc/" + std::to_string(other.process) + "/fd/" + std::to_string(other.file);
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return said(cudaErrorInvalidResourceHandle);
  const bool is_same = inode_of(file) == other.inode;
  std::byte* const own = is_same ? map_memory(other.bytes, file) : nullptr;
  close(file);
  if (!is_same) return said(cudaErrorInvalidResourceHandle);
  const std::lock_guard lock(world().mutex);
  world().opened_ranges.emplace(own,
                                Range{other.bytes, current_device, ++world().ranges, /*is_mapped=*/true});
  *memory = own;
  return cudaSuccess;
}

cudaError_t cudaIpcCloseMemHandle(void* memory) {
  TANDEM_BEGIN_CALL();
  return free_range(world().opened_ranges, memory);
}
