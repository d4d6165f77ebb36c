#include "runtime/machines/guard_machine.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "runtime/machines/guard_messages.hpp"
#include "runtime/machines/network_probe.hpp"
#include "runtime/machines/rank_watch.hpp"
#include "runtime/process/process_list.hpp"

namespace tandem::machines {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds probe_interval{500};

Seconds passed_since(Clock::time_point moment) {
  return Seconds(std::chrono::duration<double>(Clock::now() - moment).count());
}

/// The files of the folders of ranks; each is reported once.
class FinishedFiles {
 public:
  /// `files`: beginning of their paths in a folder, "checkpoints/round_".
  FinishedFiles(std::string folders, const std::string& files)
      : folders_(std::move(folders)),
        inner_(fs::path(files).parent_path()),
        beginning_(fs::path(files).filename().string()) {}

  std::vector<FinishedFile> find_new() {
    std::vector<FinishedFile> found;
    if (folders_.empty()) return found;
    std::error_code none;
    for (const auto& folder : fs::directory_iterator(fs::path(folders_).parent_path(), none)) {
      if (!is_of_ranks(folder.path().string())) continue;
      for (const auto& entry : fs::directory_iterator(folder.path() / inner_, none)) {
        const std::string name = entry.path().filename().string();
        // Unfinished ones have another name until they are complete.
        if (!name.starts_with(beginning_) || name.ends_with(".partial")) continue;
        if (known_.insert(entry.path().string()).second)
          found.push_back({folder.path().string(), (inner_ / name).string()});
      }
    }
    return found;
  }

 private:
  /// The beginning, and the number of a rank.
  bool is_of_ranks(const std::string& folder) const {
    return folder.size() > folders_.size() && folder.starts_with(folders_) &&
           folder.find_first_not_of("0123456789", folders_.size()) == std::string::npos;
  }

  std::string folders_;
  fs::path inner_;
  std::string beginning_;
  std::set<std::string> known_;
};

/// The daemons of Open MPI that started the ranks of a job on this machine. They wait for a launcher that may
/// be out of reach.
std::vector<pid_t> daemons_of(const std::string& mark) {
  std::vector<pid_t> daemons;
  for (const pid_t rank : processes_with_variable(mark))
    if (const pid_t parent = parent_of(rank); program_of(parent) == "orted" || program_of(parent) == "prted")
      daemons.push_back(parent);
  return daemons;
}

class Guard {
 public:
  explicit Guard(const GuardRequest& request)
      : limit_(std::chrono::duration_cast<Clock::duration>(
            std::chrono::duration<double>(request.limit.count()))),
        // The machine that asks needs the rest of the time to end the job.
        silence_(std::max(0.5 * request.limit.count(), request.limit.count() - 1.0)),
        mark_(request.mark),
        ranks_(request.mark),
        files_(request.folders, request.files) {
    if (!request.address.empty()) probe_.emplace(request.address, request.mark);
  }

  /// Returns when no question comes any more.
  void answer_all() {
    Clock::time_point asked = Clock::now(), next_probe = Clock::now();
    while (Clock::now() - asked < limit_) {
      if (probe_ && Clock::now() >= next_probe) {
        probe_->send_all();
        next_probe = Clock::now() + probe_interval;
      }
      std::vector<pollfd> polled = {{STDIN_FILENO, POLLIN, 0}};
      for (const int one : ranks_.descriptors()) polled.push_back({one, POLLIN, 0});
      if (probe_) polled.push_back({probe_->descriptor(), POLLIN, 0});
      const auto until = probe_ ? std::min(asked + limit_, next_probe) : asked + limit_;
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
      poll(polled.data(), polled.size(), static_cast<int>(std::max<std::int64_t>(left, 0)));
      ranks_.read_available();
      if (probe_) probe_->read_available();
      if (polled.front().revents == 0) continue;
      asked = Clock::now();
      if (!answer_lines()) return;
    }
  }

 private:
  /// False: no question comes any more.
  bool answer_lines() {
    std::array<char, 4096> bytes{};
    const ssize_t count = read(STDIN_FILENO, bytes.data(), bytes.size());
    if (count <= 0) return false;
    input_.append(bytes.data(), static_cast<std::size_t>(count));
    for (std::size_t end = 0; (end = input_.find('\n')) != std::string::npos; input_.erase(0, end + 1)) {
      const GuardOrder order = guard_order_from(input_.substr(0, end));
      if (!order.peers.empty() && probe_) probe_->set_peers(order.peers);
      GuardAnswer all = answer();
      if (order.to_kill && kill_rank(mark_, *order.to_kill)) all.killed = order.to_kill;
      write_all(STDOUT_FILENO, to_text(all) + '\n');
    }
    return true;
  }

  GuardAnswer answer() {
    GuardAnswer all{.files = files_.find_new()};
    for (const auto& [end, at] : ranks_.ends()) all.ends.push_back({end, passed_since(at)});
    if (probe_) all.port = probe_->port();
    if (probe_) all.silent = probe_->silent(silence_);
    return all;
  }

  Clock::duration limit_;
  Seconds silence_;
  std::string mark_;
  RankWatch ranks_;
  FinishedFiles files_;
  std::optional<NetworkProbe> probe_;
  std::string input_;
};

}  // namespace

void guard_machine(const std::string& text) {
  // The program that asks may have ended, and its pipes with it.
  std::signal(SIGPIPE, SIG_IGN);
  GuardRequest request;
  try {
    request = guard_request_from(text);
    Guard(request).answer_all();
  } catch (const WorldError& error) {
    fmt::print(stderr, "{}\n", error.what());
    if (request.mark.empty()) return;
  }
  for (const pid_t daemon : daemons_of(request.mark)) kill(daemon, SIGKILL);
  constexpr Seconds kill_limit{4.0};
  kill_until_none([&request] { return processes_with_variable(request.mark); }, kill_limit);
}

}  // namespace tandem::machines
