#include "workloads/roles/sample_source.hpp"

#include <utility>

namespace tandem {

void DiskSource::put_next(Pending& wait) {
  if (!wait.empty() || reads_.empty()) return;
  SampleRead& read = reads_.front();
  read.started = context_.now();
  Kernel transfer;
  if (records_ != nullptr)
    transfer = [this, &read] {
      for (std::size_t i = 0; i < read.ids.size(); ++i) records_->read(read.ids[i], read.targets[i]);
    };
  wait = context_.read(0, {read.size, std::ssize(read.ids)}, std::move(transfer));
}

SampleRead DiskSource::finish() {
  SampleRead read = std::move(reads_.front());
  reads_.pop_front();
  read.duration = context_.now() - read.started;
  return read;
}

}  // namespace tandem
