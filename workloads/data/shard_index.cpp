#include "workloads/data/shard_index.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/text_parts.hpp"
#include "workloads/data/tar.hpp"

namespace tandem {
namespace {

constexpr std::int64_t largest_archive = std::int64_t{1} << 50;
constexpr const char* first_line = "tandem-shards 1";

const char* name_of(Dataset::Part part) { return part == Dataset::Part::train ? "train" : "test"; }

/// Reads an index line by line.
class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path) {
    std::ifstream file(path, std::ios::binary);
    if (!file)
      throw ConfigError(fmt::format(
          "data set 'shards': expected the index '{}', which `tandem data pack` writes, found none", path));
    std::ostringstream all;
    all << file.rdbuf();
    text_ = std::move(all).str();
    rest_ = text_;
  }

  ShardIndex read() {
    if (next() != first_line) fail(fmt::format("'{}', as `tandem data pack` writes", first_line));
    for (;;) {
      next();
      if (take("end ")) break;
      if (take("class "))
        index_.classes.emplace_back(line_);
      else if (take("mean "))
        index_.mean = real();
      else if (take("deviation "))
        index_.deviation = real();
      else if (take("shard "))
        begin_shard();
      else
        add_sample();
    }
    finish();
    return std::move(index_);
  }

 private:
  /// The next line, which must be whole.
  std::string_view next() {
    ++number_;
    const auto end = rest_.find('\n');
    if (end == std::string_view::npos) {
      line_ = whole_ = "";
      fail("'end' and the number of samples, in the last line of a whole index");
    }
    line_ = whole_ = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return line_;
  }
  bool take(std::string_view word) {
    if (!line_.starts_with(word)) return false;
    line_.remove_prefix(word.size());
    return true;
  }
  std::string_view word() {
    const auto end = std::min(line_.find(' '), line_.size());
    const auto taken = line_.substr(0, end);
    line_.remove_prefix(std::min(end + 1, line_.size()));
    return taken;
  }
  std::int64_t number(const char* what, int base = 10) {
    const std::string_view text = word();
    std::int64_t value = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc() || end != text.data() + text.size() || value < 0) fail(what);
    return value;
  }
  float real() {
    const std::string_view text = word();
    const auto value = parse_number<float>(text);
    if (!value || !(*value > 0.0F) || !std::isfinite(*value)) fail("a positive number");
    return *value;
  }

  void begin_shard() {
    const std::string_view part = word();
    if (part != "train" && part != "test") fail("a shard of 'train' or 'test'");
    part_ = part == "train" ? Dataset::Part::train : Dataset::Part::test;
    const std::string file(word());
    if (file.empty() || file.find('/') != std::string::npos)
      fail("the name of a tar file in the folder of the index");
    expect_samples();
    const std::int64_t size = number("the bytes of the tar file");
    if (size > largest_archive) fail(fmt::format("at most {} bytes", largest_archive));
    index_.shards.push_back({file, Bytes(size)});
    index_.part(*part_).manifest->names.add(file + '\n');
    end_ = 0;
  }

  /// Expects that the last shard has samples.
  void expect_samples() const {
    if (!index_.shards.empty() && end_ == 0)
      fail("a sample of '" + index_.shards.back().file + "' before it");
  }

  void add_sample() {
    if (!part_) fail("a line that begins with class, mean, deviation or shard");
    const std::int64_t offset = number("the offset of a sample");
    const std::int64_t size = number("the size of a sample");
    const std::int64_t checksum = number("a checksum of 8 hexadecimal digits", 16);
    const std::int64_t label = number("the number of a class");
    const Bytes archive = index_.shards.back().size;
    if (checksum > std::numeric_limits<std::uint32_t>::max()) fail("a checksum of 8 hexadecimal digits");
    if (offset % tar::block_bytes != 0 || offset < end_ + tar::block_bytes)
      fail(fmt::format("a sample at a multiple of {} bytes, after the header behind byte {}",
                       tar::block_bytes, end_));
    if (size == 0 || size > archive.count() || offset > archive.count() - size)
      fail(fmt::format("a sample that is not empty and ends within the {} bytes of '{}'", archive.count(),
                       index_.shards.back().file));
    if (label >= std::ssize(index_.classes)) fail(fmt::format("a class below {}", index_.classes.size()));
    end_ = offset + tar::padded(Bytes(size)).count();
    ShardIndex::Part& part = index_.part(*part_);
    part.manifest->sizes.push_back(Bytes(size));
    part.manifest->checksums.push_back(static_cast<std::uint32_t>(checksum));
    part.manifest->labels.push_back(static_cast<std::uint16_t>(label));
    part.shards.push_back(static_cast<std::uint32_t>(index_.shards.size() - 1));
    part.offsets.push_back(offset);
  }

  void finish() {
    expect_samples();
    const std::int64_t expected = number("the number of samples");
    const std::int64_t found = index_.train.manifest->samples() + index_.test.manifest->samples();
    if (found != expected) fail(fmt::format("the number of its samples, {}", found));
    if (index_.classes.size() < 2 || index_.classes.size() > Manifest::most_classes)
      fail(fmt::format("2 to {} classes before it, found {}: the last line is", Manifest::most_classes,
                       index_.classes.size()));
    if (index_.train.shards.empty() || index_.test.shards.empty()) fail("samples of train and of test");
  }

  [[noreturn]] void fail(const std::string& expected) const {
    throw ConfigError(fmt::format("{}:{}: expected {}, found {}", path_, number_, expected,
                                  whole_.empty() ? "nothing" : fmt::format("'{}'", whole_)));
  }

  std::string path_;
  std::string text_;
  std::string_view rest_;
  std::string_view whole_;  ///< the line being read
  std::string_view line_;   ///< the rest of the line
  std::int64_t number_ = 0;
  ShardIndex index_;
  std::optional<Dataset::Part> part_;  ///< of the last shard
  std::int64_t end_ = 0;               ///< of the last sample in it
};

}  // namespace

ShardIndex read_shard_index(const std::string& path) { return Reader(path).read(); }

void write_shard_index(const ShardIndex& index, const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  file << first_line << fmt::format("\nmean {}\ndeviation {}\n", index.mean, index.deviation);
  for (const auto& name : index.classes) file << "class " << name << '\n';
  for (const auto which : {Dataset::Part::train, Dataset::Part::test}) {
    const ShardIndex::Part& part = index.part(which);
    for (std::size_t i = 0; i < part.shards.size(); ++i) {
      if (i == 0 || part.shards[i] != part.shards[i - 1]) {
        const auto& shard = index.shards[part.shards[i]];
        file << fmt::format("shard {} {} {}\n", name_of(which), shard.file, shard.size.count());
      }
      file << fmt::format("{} {} {:08x} {}\n", part.offsets[i], part.manifest->sizes[i].count(),
                          part.manifest->checksums[i], part.manifest->labels[i]);
    }
  }
  file << fmt::format("end {}\n", index.train.manifest->samples() + index.test.manifest->samples());
  if (!file.flush()) throw WorldError("cannot write '" + path + "'");
}

}  // namespace tandem
