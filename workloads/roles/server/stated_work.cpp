#include "workloads/roles/server/stated_work.hpp"

#include <algorithm>
#include <utility>

namespace tandem {

bool StatedWork::begin_push(Context& context, const CompletePush& push) {
  return !costs_.empty() && begin(context, {costs_.of_push(push.key), push.worker, push});
}

bool StatedWork::begin_reply(Context& context, int worker, std::size_t key, bool brings_model) {
  return !costs_.empty() && begin(context, {costs_.of_reply(key, brings_model), worker, std::nullopt});
}

bool StatedWork::begin(Context& context, Task task) {
  if (!running_.empty()) {
    begin_on_thread(context, std::move(task));
    return true;
  }
  Pending working = context.compute(task.work);
  context.wait(working);
  return false;
}

/// On the first thread that is free, or later.
void StatedWork::begin_on_thread(Context& context, Task task) {
  const auto free = std::ranges::find_if(running_, [](const auto& running) { return !running; });
  if (free == running_.end()) return waiting_.push_back(std::move(task));
  task.work.concurrent = true;
  pendings_[static_cast<std::size_t>(free - running_.begin())] = context.compute(task.work);
  *free = std::move(task);
}

std::optional<int> StatedWork::end(Context& context, std::size_t thread) {
  const Task done = *std::exchange(running_[thread], std::nullopt);
  if (!waiting_.empty()) {
    Task next = std::move(waiting_.front());
    waiting_.pop_front();
    begin_on_thread(context, std::move(next));
  }
  if (!done.push) return done.worker;
  ready_.push_back(*done.push);
  return std::nullopt;
}

std::vector<int> StatedWork::end_all(Context& context) {
  std::vector<int> replied;
  while (std::ranges::any_of(running_, [](const auto& running) { return running.has_value(); }))
    if (const auto worker = end(context, context.wait_any(pendings_).index)) replied.push_back(*worker);
  return replied;
}

std::optional<CompletePush> StatedWork::take_push() {
  if (ready_.empty()) return std::nullopt;
  const CompletePush first = ready_.front();
  ready_.pop_front();
  return first;
}

}  // namespace tandem
