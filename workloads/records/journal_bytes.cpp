#include "workloads/records/journal_bytes.hpp"

#include <cstring>
#include <string>
#include <type_traits>

#include "policies/vocabulary/check.hpp"
#include "workloads/records/csv_columns.hpp"

namespace tandem {
namespace {

/// Passes every field of the journal to `wire`, in the same order for writing and for reading.
void pass(auto& wire, auto& journal) {
  wire.value(journal.keep_decisions);
  visit_figures(journal, [&](const char*, auto& figure) { wire.value(figure); });
  visit_server_figures(journal, [&](const char*, auto& figure) { wire.value(figure); });
  visit_commit_figures(journal, [&](const char*, auto& figure) { wire.value(figure); });
  visit_membership_figures(journal, [&](const char*, auto& figure) { wire.value(figure); });
  visit_lists(journal, [&](const char*, bool, auto& records) {
    using Record = typename std::remove_cvref_t<decltype(records)>::value_type;
    wire.count(records);
    for (auto& record : records)
      Columns<Record>::visit(record, [&](const auto&, auto& field) { wire.value(field); });
  });
}

class Writer {
 public:
  void count(const auto& list) { value(list.size()); }
  void value(const std::string& text) {
    count(text);
    raw(text.data(), text.size());
  }
  template <class Value>
  requires std::is_trivially_copyable_v<Value>
  void value(const Value& value) { raw(&value, sizeof(value)); }

  std::vector<std::byte> bytes;

 private:
  void raw(const void* data, std::size_t size) {
    const auto* begin = static_cast<const std::byte*>(data);
    bytes.insert(bytes.end(), begin, begin + size);
  }
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : left_(bytes) {}
  /// Every entry takes at least one byte, so a count above the bytes left cannot be right.
  void count(auto& list) {
    std::size_t size = 0;
    value(size);
    if (size > left_.size()) throw WorldError("a rank's journal arrived incomplete");
    list.resize(size);
  }
  void value(std::string& text) {
    count(text);
    raw(text.data(), text.size());
  }
  template <class Value>
  requires std::is_trivially_copyable_v<Value>
  void value(Value& value) { raw(&value, sizeof(value)); }
  bool at_end() const { return left_.empty(); }

 private:
  void raw(void* data, std::size_t size) {
    if (size > left_.size()) throw WorldError("a rank's journal arrived incomplete");
    if (size > 0) std::memcpy(data, left_.data(), size);
    left_ = left_.subspan(size);
  }

  std::span<const std::byte> left_;
};

}  // namespace

std::vector<std::byte> to_bytes(const Journal& journal) {
  Writer writer;
  pass(writer, journal);
  return std::move(writer.bytes);
}

Journal journal_from_bytes(std::span<const std::byte> bytes) {
  Reader reader(bytes);
  Journal journal;
  pass(reader, journal);
  if (!reader.at_end()) throw WorldError("a rank's journal arrived with extra bytes at its end");
  return journal;
}

}  // namespace tandem
