#include "runtime/launcher/mpirun_errors.hpp"

#include <fmt/format.h>

#include <regex>

namespace tandem {

std::optional<std::string> MpirunErrors::read(const std::string& line) {
  if (auto failure = parse_failure_line(line)) {
    if (!reported_) reported_ = std::move(failure);
    return std::nullopt;
  }
  // mpirun puts each of its messages between two lines of dashes.
  static const std::regex rule("-{40,}");
  // The recursion of regular expressions could overflow on longer lines, which mpirun does not print.
  constexpr std::size_t longest = 1000;
  if (line.size() <= longest && std::regex_match(line, rule)) {
    inside_mpirun_message_ = !inside_mpirun_message_;
    return std::nullopt;
  }
  // Messages of several processes may be mixed, so a line of dashes does not show whose text follows.
  const bool is_about_job = line.size() <= longest && line.starts_with("mpirun noticed that process rank");
  if (inside_mpirun_message_ || is_about_job) {
    read_mpirun_line(line);
    return std::nullopt;
  }
  if (line.starts_with("mpirun: Forwarding signal ")) return std::nullopt;
  // Lines that Open MPI prints within ranks: "[host:pid] ...".
  static const std::regex library_line(R"(\[[^\]\s]{1,255}:\d{1,9}\] )");
  if (std::regex_search(line, library_line, std::regex_constants::match_continuous)) return std::nullopt;
  return line;
}

void MpirunErrors::read_mpirun_line(const std::string& line) {
  static const std::regex signal(
      R"(.*process rank (\d+) with PID \d+ on node (\S+) exited on (signal (\d+).*)\.)");
  static const std::regex process(R"(\s*Process name: \[\[\d+,\d+\],(\d+)\])");
  static const std::regex code(R"(\s*Exit code:\s*(\d+))");
  // From the message that ranks print when the connection to another one breaks.
  static const std::regex here(R"(\s*Local host:\s*(\S+))");
  static const std::regex there(R"(\s*Peer host:\s*(\S+))");
  std::smatch parts;
  if (std::regex_match(line, parts, signal)) {
    observed_ = RankFailure{std::stoi(parts[1]), parts[2], "was ended by " + parts[3].str()};
    ended_by_signal_ = EndBySignal{std::stoi(parts[1]), std::stoi(parts[4])};
  } else if (std::regex_match(line, parts, process)) {
    observed_ = RankFailure{std::stoi(parts[1]), "", "ended without an error message"};
  } else if (std::regex_match(line, parts, code) && observed_) {
    observed_->message = "ended with exit code " + parts[1].str();
  } else if (std::regex_match(line, parts, here)) {
    local_host_ = parts[1];
  } else if (std::regex_match(line, parts, there)) {
    if (!broken_)
      broken_ = RankFailure{
          -1, "",
          fmt::format("a rank on host {} lost the connection to a rank on host {}: that rank, its "
                      "machine or the network between them failed",
                      local_host_.empty() ? "(unknown)" : local_host_, parts[1].str())};
  } else if (!line.empty()) {
    mpirun_text_ += (mpirun_text_.empty() ? "" : "\n") + line;
  }
}

RankFailure MpirunErrors::failure() const {
  if (reported_) return *reported_;
  if (observed_) return *observed_;
  if (broken_) return *broken_;
  return {-1, "", mpirun_text_.empty() ? "mpirun failed without an error message" : mpirun_text_};
}

}  // namespace tandem
