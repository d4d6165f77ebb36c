#include "runtime/rank/journal_wire.hpp"

#include <cstring>
#include <string>
#include <type_traits>

#include "policies/vocabulary/check.hpp"

namespace tandem {
namespace {

// One list of fields a record serves writing and reading, so that the two cannot part ways.
void fields(auto& wire, auto& journal) requires
    std::is_same_v<std::remove_const_t<std::remove_reference_t<decltype(journal)>>, Journal> {
  wire.all(journal.keep_decisions, journal.late_devices, journal.cpu_wait, journal.other_load,
           journal.dropped_samples, journal.skipped_steps);
  wire.list(journal.steps, [&](auto& step) {
    wire.all(step.rank, step.step, step.round, step.version, step.start, step.phases, step.samples, step.loss,
             step.bytes_sent, step.bytes_received);
  });
  wire.list(journal.evaluations, [&](auto& evaluation) {
    wire.all(evaluation.round, evaluation.samples, evaluation.checkpoint_time, evaluation.time,
             evaluation.accuracy, evaluation.loss);
  });
  wire.list(journal.decisions, [&](auto& decision) {
    wire.all(decision.rank, decision.side, decision.event, decision.decisions);
  });
  wire.list(journal.caches, [&](auto& cache) {
    wire.all(cache.rank, cache.epoch, cache.local, cache.storage, cache.local_bytes, cache.storage_bytes,
             cache.storage_time);
  });
  wire.list(journal.staleness,
            [&](auto& record) { wire.all(record.rank, record.staleness, record.pushes, record.samples); });
  wire.list(journal.operations, [&](auto& operation) {
    wire.all(operation.rank, operation.kind, operation.peer, operation.channel, operation.work,
             operation.bucket, operation.bytes, operation.samples, operation.start, operation.end);
  });
}

class Writer {
 public:
  void all(const auto&... values) { (one(values), ...); }
  void list(const auto& records, auto&& each) {
    one(records.size());
    for (const auto& record : records) each(record);
  }
  std::vector<std::byte> bytes;

 private:
  void raw(const void* data, std::size_t size) {
    const auto* begin = static_cast<const std::byte*>(data);
    bytes.insert(bytes.end(), begin, begin + size);
  }
  void one(const std::string& text) {
    one(text.size());
    raw(text.data(), text.size());
  }
  template <class Value>
  requires std::is_trivially_copyable_v<Value>
  void one(const Value& value) { raw(&value, sizeof(value)); }
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : left_(bytes) {}
  void all(auto&... values) { (one(values), ...); }
  void list(auto& records, auto&& each) {
    records.resize(count());
    for (auto& record : records) each(record);
  }
  bool at_end() const { return left_.empty(); }

 private:
  void raw(void* data, std::size_t size) {
    if (size > left_.size()) throw WorldError("a rank's journal arrived cut off");
    if (size > 0) std::memcpy(data, left_.data(), size);
    left_ = left_.subspan(size);
  }
  /// Every entry takes a byte at least: a larger count is not one.
  std::size_t count() {
    std::size_t value = 0;
    one(value);
    if (value > left_.size()) throw WorldError("a rank's journal arrived cut off");
    return value;
  }
  void one(std::string& text) {
    text.resize(count());
    raw(text.data(), text.size());
  }
  template <class Value>
  requires std::is_trivially_copyable_v<Value>
  void one(Value& value) { raw(&value, sizeof(value)); }

  std::span<const std::byte> left_;
};

}  // namespace

std::vector<std::byte> to_bytes(const Journal& journal) {
  Writer writer;
  fields(writer, journal);
  return std::move(writer.bytes);
}

Journal journal_from_bytes(std::span<const std::byte> bytes) {
  Reader reader(bytes);
  Journal journal;
  fields(reader, journal);
  if (!reader.at_end()) throw WorldError("a rank's journal arrived with something behind it");
  return journal;
}

}  // namespace tandem
