#include "workloads/calibration/nccl_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/text_parts.hpp"

namespace tandem {
namespace {

using Words = std::vector<std::string>;

class Reader {
 public:
  Reader(const std::string& path, std::optional<int> ranks) : path_(path), given_(ranks) {}

  std::vector<Profile::AllReduceEntry> read() {
    std::ifstream file(path_);
    if (!file) throw ConfigError(path_ + ": expected a table of nccl-tests, found no such file");
    for (std::string line; std::getline(file, line);) {
      ++line_;
      const Words words = words_in(line);
      if (words.empty()) continue;
      if (words.front().starts_with('#'))
        read_header(words);
      else if (!columns_.empty() && std::isdigit(static_cast<unsigned char>(words.front().front())) != 0)
        read_row(words);
      // Launchers and libraries print lines of their own in between.
    }
    if (columns_.empty())
      throw ConfigError(path_ +
                        ": expected a line '# size count type redop root time algbw busbw', found none; "
                        "this is the output of all_reduce_perf");
    if (entries_.empty())
      throw ConfigError(path_ + ": expected rows below the line '# size ...', found none");
    std::ranges::sort(entries_, {}, &Profile::AllReduceEntry::bytes);
    return std::move(entries_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw ConfigError(fmt::format("{}:{}: {}", path_, line_, what));
  }

  void read_header(Words words) {
    // "#" may touch the first word.
    if (words.front() == "#")
      words.erase(words.begin());
    else
      words.front().erase(0, 1);
    if (words.size() >= 2 && words[0] == "Rank") listed_.insert(words[1]);
    if (words.empty() || words.front() != "size") return;
    if (std::ranges::find(words, "time") == words.end() || std::ranges::find(words, "busbw") == words.end())
      fail("expected the columns size, time, algbw and busbw");
    columns_ = std::move(words);
  }

  int ranks() const {
    const int listed = static_cast<int>(listed_.size());
    if (given_ && listed > 0 && listed != *given_)
      fail(fmt::format("expected {} ranks as with --ranks, found {} lines '# Rank ...'", *given_, listed));
    if (!given_ && listed == 0)
      fail("expected lines '# Rank ...' above the table, found none; state the number of ranks with --ranks");
    const int count = given_.value_or(listed);
    if (count < 2) fail(fmt::format("expected an all-reduce among at least 2 ranks, found {}", count));
    return count;
  }

  /// The last column of this name: in place, if the table has both halves.
  double value(const Words& row, const std::string& column) const {
    const auto last = std::find(columns_.rbegin(), columns_.rend(), column);
    const auto index = static_cast<std::size_t>(columns_.rend() - last) - 1;
    const std::string& word = row[index];
    const auto number = parse_number<double>(word);
    if (!number || !std::isfinite(*number) || *number < 0.0)
      fail(fmt::format("expected a number in column {}, found '{}'", column, word));
    return *number;
  }

  void read_row(const Words& row) {
    if (row.size() != columns_.size())
      fail(fmt::format("expected {} columns, found {}", columns_.size(), row.size()));
    const double bytes = value(row, "size"), time_us = value(row, "time");
    if (bytes == 0.0) return;  // nccl-tests rounds small sizes down
    if (bytes < 1.0 || bytes > 1e15 || bytes != std::floor(bytes))
      fail(fmt::format("expected a size in bytes, found {}", bytes));
    if (time_us <= 0.0) fail("expected a time above 0");
    const int count = ranks();
    check_factor(count, value(row, "algbw"), value(row, "busbw"));
    const auto size = static_cast<std::int64_t>(bytes);
    if (std::ranges::find(entries_, size, &Profile::AllReduceEntry::bytes) != entries_.end())
      fail(fmt::format("expected each size once, found {} twice; one file for each table", size));
    const double time_s = time_us * 1e-6;
    entries_.push_back({.ranks = count,
                        .bytes = size,
                        .median_s = time_s,
                        .spread = 0.0,
                        .raw_s = {time_s},
                        .behind_s = time_s,
                        .at_once_raw_s = {}});
  }

  /// Checks the factor between bandwidths that have enough digits.
  void check_factor(int count, double algorithm, double bus) const {
    constexpr double enough = 1.0;  // GB/s with two decimals
    constexpr double tolerance = 0.02;
    const double factor = 2.0 * (count - 1) / count;
    if (algorithm < enough || std::abs(bus / algorithm / factor - 1.0) < tolerance) return;
    fail(fmt::format(
        "expected busbw / algbw = 2 (n - 1) / n = {:.3f} of an all-reduce among {} ranks, found {:.3f}; "
        "is this the table of another operation, or of other ranks?",
        factor, count, bus / algorithm));
  }

  const std::string path_;
  std::optional<int> given_;
  int line_ = 0;
  std::set<std::string> listed_;
  Words columns_;
  std::vector<Profile::AllReduceEntry> entries_;
};

}  // namespace

std::vector<Profile::AllReduceEntry> read_nccl_table(const std::string& path, std::optional<int> ranks) {
  return Reader(path, ranks).read();
}

}  // namespace tandem
