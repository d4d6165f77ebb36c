// How one rank writes its part of a commit: to a disk, or through a copy into the memory of another machine,
// while training waits or in the background.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "workloads/checkpoint/memory_copies.hpp"
#include "workloads/context.hpp"
#include "workloads/job/plan/job.hpp"

namespace tandem {

class PartWriter {
 public:
  /// `has_part`: whether this rank has a part in commits. The arguments must outlive it.
  PartWriter(const Job& job, Context& context, bool has_part);

  void set_size(Bytes size) { size_ = size; }
  Bytes size() const { return size_; }
  std::optional<int> disk() const { return disk_; }

  /// Writes the part of the commit after this round. Training waits until that has ended or, in the
  /// background, until the part is copied. `started`: when training began to wait. `save`: writes the files,
  /// if there are any; false: it could not. `kept`: of this rank. Pre: not is_writing().
  void write(std::int64_t round, Seconds started, const KeptRounds& kept, std::function<bool()> save);
  bool is_writing() const { return !writing_.empty() || copies_.is_open(); }
  /// A call of end() would not block.
  bool has_written();
  void end();
  /// How long training waited for the copy of the last part.
  Seconds copied() const { return copied_; }
  /// The last part could not be written; to be asked once.
  bool take_failed() { return std::exchange(failed_, false); }
  /// No more parts follow.
  void finish(const KeptRounds& kept);

 private:
  Context& context_;
  CommitMode mode_;
  bool in_memory_;
  std::optional<int> disk_;
  Bytes size_;
  MemoryCopies copies_;
  Pending writing_;
  Seconds copied_{};
  bool failed_ = false;
};

}  // namespace tandem
