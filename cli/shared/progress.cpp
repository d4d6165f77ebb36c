#include "cli/shared/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <regex>

#include "cli/shared/output.hpp"

namespace tandem::cli {
namespace {

constexpr std::chrono::seconds quiet_time(2);
constexpr std::chrono::milliseconds bar_interval(200);
constexpr std::chrono::seconds line_interval(10);
constexpr int bar_width = 30;

}  // namespace

ProgressBar::ProgressBar(std::string label)
    : label_(std::move(label)),
      terminal_(isatty(STDERR_FILENO) == 1),
      start_(Clock::now()),
      next_(start_ + quiet_time) {}

ProgressBar::~ProgressBar() {
  if (shown_ && terminal_) fmt::print(stderr, "\r\033[K");
}

void ProgressBar::status(const std::string& text) {
  if (!shows_progress()) return;
  shown_ = true;
  const char* const begin = terminal_ ? "\r" : "";
  const char* const end = terminal_ ? "\033[K" : "\n";
  fmt::print(stderr, "{}{}: {} ...{}", begin, label_, text, end);
  std::fflush(stderr);
}

void ProgressBar::update(double fraction) {
  const double elapsed_s = std::chrono::duration<double>(Clock::now() - start_).count();
  const auto left_s = time_left_.update(elapsed_s, std::clamp(fraction, 0.0, 1.0));
  update(fraction, left_s ? std::optional(Seconds(*left_s)) : std::nullopt);
}

void ProgressBar::update(double fraction, std::optional<Seconds> left) {
  const auto now = Clock::now();
  if (now < next_ || !shows_progress()) return;
  shown_ = true;
  const double done = std::clamp(fraction, 0.0, 1.0);
  const std::string rest = left ? fmt::format(", {:.0f} s left", left->count()) : "";
  if (terminal_) {
    const int filled = static_cast<int>(done * bar_width);
    fmt::print(stderr, "\r{} [{:=<{}}{: <{}}] {:3.0f} %{}\033[K", label_, "", filled, "", bar_width - filled,
               done * 100, rest);
    std::fflush(stderr);
    next_ = now + bar_interval;
  } else {
    fmt::print(stderr, "{}: {:.0f} %{}\n", label_, done * 100, rest);
    next_ = now + line_interval;
  }
}

double logged_progress(const std::string& file) {
  static const std::regex line_of_progress(R"(.*: (\d+) %.*)");
  std::ifstream log(file);
  double done = 0.0;
  std::smatch parts;
  for (std::string line; std::getline(log, line);)
    if (std::regex_match(line, parts, line_of_progress)) done = std::stod(parts[1]) / 100;
  return std::min(done, 1.0);
}

}  // namespace tandem::cli
