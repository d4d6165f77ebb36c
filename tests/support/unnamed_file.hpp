// Opens a file that this process has open and that has no name any more, to change it behind the back of its
// owner.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tandem::testing {

/// Changes every byte of it. False: there is no such file. `name`: the end of its former path.
inline bool corrupt_unnamed(const std::string& name) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string target = std::filesystem::read_symlink(entry.path(), gone).string();
    if (gone || !target.ends_with(name + " (deleted)")) continue;
    const int file = ::open(entry.path().c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0) return false;
    const off_t size = ::lseek(file, 0, SEEK_END);
    std::vector<unsigned char> bytes(static_cast<std::size_t>(size));
    bool done = ::pread(file, bytes.data(), bytes.size(), 0) == size;
    for (auto& byte : bytes) byte ^= 0xffU;
    done = done && ::pwrite(file, bytes.data(), bytes.size(), 0) == size;
    ::close(file);
    return done && size > 0;
  }
  return false;
}

}  // namespace tandem::testing
