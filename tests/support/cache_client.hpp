// A client of a cache node that is written by hand, in the place of a worker's loader.
#pragma once

#include <deque>
#include <utility>
#include <vector>

#include "workloads/context.hpp"
#include "workloads/job/plan/data_plan.hpp"
#include "workloads/protocol.hpp"
#include "workloads/roles/cache/given_samples.hpp"

namespace tandem::testing {

class CacheClient {
 public:
  /// `data` must outlive it. `given`: as the job's messages have it.
  CacheClient(Context& context, const DataPlan& data, Rank node, const GivenSamples& given = GivenSamples({}))
      : context_(context), data_(data), node_(node), given_(given) {}

  void request(std::vector<SampleId> ids, std::int64_t epoch = 0) {
    Request& request = requests_.emplace_back(Request{.ids = std::move(ids)});
    Bytes size = given_.size(request.ids.size());
    for (const SampleId id : request.ids) size += data_.manifest().size_of(id);
    const bool is_real = data_.dataset() != nullptr;
    if (is_real) request.records.resize(static_cast<std::size_t>(size.count()));
    request.batch =
        protocol::receive<"batches">(context_, node_, {size, is_real ? request.records.data() : nullptr});
    const auto count = std::ssize(request.ids);
    request.sent = protocol::send<"requests">(
        context_, node_, protocol::Request{.samples = static_cast<std::int32_t>(count), .epoch = epoch},
        {Bytes(count * static_cast<std::int64_t>(sizeof(SampleId))),
         reinterpret_cast<std::byte*>(request.ids.data())});
  }
  /// The records of the oldest request, and what follows them; empty when math is modelled.
  std::vector<std::byte> receive() {
    Request& request = requests_.front();
    context_.wait(request.sent);
    context_.wait(request.batch);
    std::vector<std::byte> records = std::move(request.records);
    requests_.pop_front();
    return records;
  }
  /// What the oldest request should bring. Pre: math is real.
  std::vector<std::byte> expected() const {
    std::vector<std::byte> records;
    for (const SampleId id : requests_.front().ids) {
      const auto record = data_.dataset()->record(Dataset::Part::train, id);
      records.insert(records.end(), record.begin(), record.end());
    }
    return records;
  }
  std::size_t in_flight() const { return requests_.size(); }
  /// Pre: nothing is in flight.
  void close() {
    Pending end = protocol::send<"requests">(context_, node_, protocol::End{});
    context_.wait(end);
  }

 private:
  struct Request {
    std::vector<SampleId> ids;
    std::vector<std::byte> records = {};
    Pending sent = {};
    Pending batch = {};
  };
  Context& context_;
  const DataPlan& data_;
  Rank node_;
  GivenSamples given_;
  std::deque<Request> requests_;
};

}  // namespace tandem::testing
