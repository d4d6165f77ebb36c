// Reads of files as data: who runs them chooses how, by a thread that waits for each of them or by the
// kernel's queue of reads (io_uring). Both give the same results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace tandem {

/// The file and the target must live until the read has ended.
struct FileRead {
  int file = -1;
  std::int64_t offset = 0;
  std::span<std::byte> target;
  /// Requests to the file start at multiples of this; one that ends elsewhere has met the end of the file.
  std::int64_t block = 1;
};

/// A read by requests, each of which may bring a part of it.
class ReadProgress {
 public:
  explicit ReadProgress(const FileRead& read) : read_(read) {}

  /// The next request.
  FileRead rest() const;
  /// `result`: the bytes of the request, or the negative errno. Returns whether another request follows.
  bool take(std::int64_t result);
  /// Bytes, fewer than asked for only at the end of the file; or the negative errno.
  std::int64_t result() const { return error_ < 0 ? error_ : done_; }

 private:
  FileRead read_;
  std::int64_t done_ = 0;
  std::int64_t error_ = 0;
};

/// Blocks until it has ended: ReadProgress::result.
std::int64_t read_and_wait(const FileRead& read);

/// A transfer for Context::read that consists of reads of files, one after the other. As a function, it does
/// them on the calling thread.
struct FileTransfer {
  std::vector<FileRead> reads;
  /// Called once with the result of each read (ReadProgress::result). Must be short, because it may delay
  /// the rank. Returns the rest of the work, which may block; mostly nothing. An exception is the error of
  /// the transfer.
  std::function<std::function<void()>(std::span<const std::int64_t> results)> then;

  void operator()() const;
};

/// A read of a file, and the work on its bytes that follows.
struct PlannedRead {
  FileRead read;
  /// Errors: WorldError naming the file, if the read failed or the file has ended before.
  std::function<void(std::int64_t result)> finish;
};

}  // namespace tandem
