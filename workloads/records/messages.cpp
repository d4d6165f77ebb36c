#include "workloads/records/messages.hpp"

#include <algorithm>
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

std::vector<AllReduceRecord> all_reduces_of(const Journal& journal) {
  using Series = std::tuple<std::string, int>;  // members, channel
  std::map<Series, std::vector<Seconds>> met;
  std::map<std::tuple<Rank, std::string, int>, std::size_t> started;
  std::vector<std::size_t> numbers;  // of each record among those of its rank
  for (const auto& operation : journal.operations) {
    if (operation.kind != "all-reduce") continue;
    auto& times = met[{operation.work, operation.channel}];
    const std::size_t number = started[{operation.rank, operation.work, operation.channel}]++;
    if (number == times.size()) times.push_back(operation.start);
    times[number] = std::max(times[number], operation.start);
    numbers.push_back(number);
  }
  std::vector<AllReduceRecord> records;
  for (const auto& operation : journal.operations)
    if (operation.kind == "all-reduce")
      records.push_back({&operation, met[{operation.work, operation.channel}][numbers[records.size()]]});
  return records;
}

}  // namespace tandem
