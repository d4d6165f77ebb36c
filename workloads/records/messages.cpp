#include "workloads/records/messages.hpp"

#include <deque>
#include <map>
#include <tuple>

namespace tandem {

std::vector<MessageRecords> messages_of(const Journal& journal) {
  using Stream = std::tuple<Rank, Rank, int>;  // from, to, channel
  std::map<Stream, std::deque<const OperationRecord*>> sent;
  for (const auto& operation : journal.operations)
    if (operation.kind == "send")
      sent[{operation.rank, operation.peer, operation.channel}].push_back(&operation);
  std::vector<MessageRecords> messages;
  for (const auto& operation : journal.operations) {
    if (operation.kind != "receive") continue;
    auto& waiting = sent[{operation.peer, operation.rank, operation.channel}];
    if (waiting.empty()) continue;
    messages.push_back({waiting.front(), &operation});
    waiting.pop_front();
  }
  return messages;
}

}  // namespace tandem
