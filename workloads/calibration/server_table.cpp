#include "workloads/calibration/server_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fstream>
#include <optional>

#include "policies/vocabulary/check.hpp"

namespace tandem {
namespace {

using Cells = std::vector<std::string>;

constexpr int most_workers = 1'000'000;
constexpr const char* wanted_columns = "workers,model,steps_per_second";

std::string trimmed(const std::string& text) {
  const char* const blanks = " \t\r";
  const auto first = text.find_first_not_of(blanks);
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

Cells cells_of(const std::string& line) {
  Cells cells;
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t end = std::min(line.find(',', begin), line.size());
    cells.push_back(trimmed(line.substr(begin, end - begin)));
    begin = end + 1;
  }
  return cells;
}

template <class Number>
std::optional<Number> number_of(const std::string& text) {
  Number number{};
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_all = error == std::errc() && rest == text.data() + text.size();
  return is_all ? std::optional(number) : std::nullopt;
}

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path) {}

  std::vector<ServerTableRow> read() {
    std::ifstream file(path_);
    if (!file) throw ConfigError(path_ + ": expected a table of training speeds, found no such file");
    for (std::string line; std::getline(file, line);) {
      ++line_;
      const std::string text = trimmed(line);
      if (text.empty() || text.starts_with('#')) continue;
      if (columns_.empty())
        read_header(cells_of(text));
      else
        read_row(cells_of(text));
    }
    check_rows();
    return std::move(rows_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw ConfigError(fmt::format("{}:{}: {}", path_, line_, what));
  }

  void read_header(Cells cells) {
    columns_ = std::move(cells);
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const std::string name = std::array{"workers", "model", "steps_per_second"}[i];
      const auto found = std::ranges::find(columns_, name);
      if (found == columns_.end())
        fail(fmt::format("expected the columns {}, found no column '{}'", wanted_columns, name));
      places_[i] = static_cast<std::size_t>(found - columns_.begin());
    }
  }

  void read_row(const Cells& cells) {
    if (cells.size() != columns_.size())
      fail(fmt::format("expected {} columns, found {}", columns_.size(), cells.size()));
    const std::string &workers = cells[places_[0]], &model = cells[places_[1]], &steps = cells[places_[2]];
    const auto count = number_of<int>(workers);
    if (!count || *count < 1 || *count > most_workers)
      fail(fmt::format("expected a number of workers from 1 to {}, found '{}'", most_workers, workers));
    if (model.empty()) fail("expected the name of a model, found ''");
    const auto speed = number_of<double>(steps);
    if (!speed || !std::isfinite(*speed) || *speed <= 0.0)
      fail(fmt::format("expected steps per second above 0, found '{}'", steps));
    const auto same = [&](const auto& row) { return row.workers == *count && row.model == model; };
    if (const auto first = std::ranges::find_if(rows_, same); first != rows_.end())
      fail(fmt::format("expected each model and number of workers once, found '{}' with {} as in line {}",
                       model, *count, first->line));
    rows_.push_back({*count, model, *speed, line_});
  }

  void check_rows() const {
    const std::string expected = ": expected at least two rows with different numbers of workers, found ";
    if (columns_.empty())
      throw ConfigError(fmt::format("{}: expected a first line '{}', found none", path_, wanted_columns));
    if (rows_.size() < 2)
      throw ConfigError(fmt::format("{}{}{}", path_, expected, rows_.empty() ? "none" : "one row"));
    const auto other = [&](const auto& row) { return row.workers != rows_.front().workers; };
    if (std::ranges::none_of(rows_, other))
      throw ConfigError(
          fmt::format("{}{}{} rows with {}", path_, expected, rows_.size(), rows_.front().workers));
  }

  std::string path_;
  int line_ = 0;
  Cells columns_;
  std::array<std::size_t, 3> places_{};  ///< of workers, model, steps_per_second
  std::vector<ServerTableRow> rows_;
};

}  // namespace

std::vector<ServerTableRow> read_server_table(const std::string& path) { return Reader(path).read(); }

}  // namespace tandem
