#include "workloads/checkpoint/record_confirmations.hpp"

#include <algorithm>

#include "workloads/protocol.hpp"

namespace tandem {

RecordConfirmations::RecordConfirmations(Context& context, std::span<const Rank> workers)
    : context_(context) {
  for (const Rank worker : workers)
    lines_.push_back({worker, context.receive(worker, protocol::commits, {})});
}

void RecordConfirmations::ask(std::int64_t round) {
  context_.wait_all(asked_);
  asked_.clear();
  const Note note = protocol::pack(protocol::Complete{.round = static_cast<std::int32_t>(round)});
  for (const Line& line : lines_) asked_.push_back(context_.send(line.worker, protocol::commits, {}, note));
}

std::int64_t RecordConfirmations::hear() {
  for (Line& line : lines_)
    while (context_.is_done(line.reply)) {
      const Completion reply = context_.wait(line.reply);
      line.confirmed = protocol::unpack<protocol::Stored>(reply.note).round;
      line.reply = context_.receive(line.worker, protocol::commits, {});
    }
  return std::ranges::min_element(lines_, {}, &Line::confirmed)->confirmed;
}

void RecordConfirmations::finish() {
  for (Line& line : lines_) {
    context_.cancel(line.reply);
    context_.wait(line.reply);
  }
  lines_.clear();
  context_.wait_all(asked_);
}

}  // namespace tandem
