#include "workloads/records/messages.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <tuple>

namespace tandem {

std::vector<MessageRecords> messages_of(const Journal& journal) {
  using Stream = std::tuple<Rank, Rank, std::string, int>;  // from, to, channel, bucket
  std::map<Stream, std::deque<const OperationRecord*>> sent;
  for (const auto& operation : journal.operations)
    if (operation.kind == "send")
      sent[{operation.rank, operation.peer, operation.channel, operation.bucket}].push_back(&operation);
  std::vector<MessageRecords> messages;
  for (const auto& operation : journal.operations) {
    if (operation.kind != "receive") continue;
    auto& waiting = sent[{operation.peer, operation.rank, operation.channel, operation.bucket}];
    if (waiting.empty()) continue;
    messages.push_back({waiting.front(), &operation});
    waiting.pop_front();
  }
  return messages;
}

std::vector<AllReduceRecord> all_reduces_of(const Journal& journal) {
  using Series = std::tuple<std::string, std::string, int>;  // members, channel, bucket
  const auto series_of = [](const OperationRecord& operation) {
    return Series(operation.work, operation.channel, operation.bucket);
  };
  std::map<Series, std::vector<Seconds>> met;
  std::map<std::tuple<Rank, Series>, std::size_t> started;
  std::vector<std::size_t> numbers;  // of each record among those of its rank
  for (const auto& operation : journal.operations) {
    if (operation.kind != "all-reduce") continue;
    auto& times = met[series_of(operation)];
    const std::size_t number = started[{operation.rank, series_of(operation)}]++;
    if (number == times.size()) times.push_back(operation.start);
    times[number] = std::max(times[number], operation.start);
    numbers.push_back(number);
  }
  std::vector<AllReduceRecord> records;
  for (const auto& operation : journal.operations)
    if (operation.kind == "all-reduce")
      records.push_back({&operation, met[series_of(operation)][numbers[records.size()]]});
  return records;
}

}  // namespace tandem
