// Messages that a rank sends and does not wait for, before it ends.
#pragma once

#include <utility>
#include <vector>

#include "workloads/context.hpp"

namespace tandem {

class OpenSends {
 public:
  /// `context` must outlive it.
  explicit OpenSends(Context& context) : context_(&context) {}

  /// Also ends those that are done.
  void add(Pending send) {
    std::vector<Pending> open;
    for (Pending& one : sends_)
      if (context_->is_done(one))
        context_->wait(one);
      else
        open.push_back(std::move(one));
    open.push_back(std::move(send));
    sends_ = std::move(open);
  }
  /// Waits until all messages have been sent. Notes need no receive for that.
  void finish() {
    context_->wait_all(sends_);
    sends_.clear();
  }

 private:
  Context* context_;
  std::vector<Pending> sends_;
};

}  // namespace tandem
