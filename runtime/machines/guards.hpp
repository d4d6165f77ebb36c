// Watches every machine of a running job by a process there, to which it sends question after question. A
// machine that does not answer is lost. A process that receives no questions any more ends the ranks of its
// machine. The answers say how ranks ended, which machines the network of the messages separates, and which
// files are finished.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "policies/vocabulary/units.hpp"
#include "runtime/machines/file_arrivals.hpp"
#include "runtime/machines/guard_messages.hpp"
#include "runtime/machines/rank_ends.hpp"
#include "runtime/machines/remote_shell.hpp"

namespace tandem::machines {

struct GuardSetting {
  struct Guarded {
    std::string machine;
    bool sees_results = true;  ///< otherwise its finished files are brought here
    std::string address = {};  ///< in the network that is probed; empty: none
  };
  std::vector<Guarded> machines;
  RemoteShell shell;
  std::string program;  ///< path of tandem-rank, on every machine
  std::string mark;     ///< variable of the ranks' environment, "NAME=VALUE"
  Seconds limit{4.0};   ///< without an answer
  ArrivalSetting arrivals = {};
};

class Guards {
 public:
  /// A machine from which no answer comes, or which the others do not reach.
  struct Lost {
    std::string machine;
    std::string reason;
    /// Machines to and from which no message comes, while all answer here; empty: it does not answer.
    std::vector<std::string> unreached = {};
  };

  explicit Guards(GuardSetting setting);
  /// Ends all ranks that still run on the machines.
  ~Guards();
  Guards(const Guards&) = delete;
  Guards& operator=(const Guards&) = delete;

  /// The first machine that was lost; empty: all answer.
  std::optional<Lost> lost() const;
  /// The rank whose end broke the job, if it was killed. Asks all machines again, and waits for their
  /// answers or the limit. Call it when the job has ended.
  std::optional<RankEnd> killed_rank();
  /// Orders the machine to kill a rank. True when the rank has been killed; call it again until then.
  bool kill_rank(const std::string& machine, Rank rank);

 private:
  using Clock = std::chrono::steady_clock;
  struct State {
    int port = 0;            ///< of its probe
    bool is_watched = true;  ///< its thread still asks
    int answers = 0;
    Clock::time_point answered;
    int questions = 0;  ///< answers that killed_rank() waits for
    std::vector<TimedEnd> ends;
    std::optional<Rank> to_kill = {};  ///< not sent yet
    std::optional<Rank> killed = {};
  };

  std::size_t index_of(const std::string& machine) const;
  std::optional<Rank> take_to_kill(std::size_t index);
  void watch(std::size_t index);
  void ask_until_end(std::size_t index);
  void take(std::size_t index, const GuardAnswer& answer, Clock::time_point asked);
  /// Waits until the next question. False when the guards end.
  bool wait(std::size_t index);
  void lose(const std::string& machine, const std::string& reason);
  /// The machines that are near in the list and have a probe; empty until all are known.
  std::vector<Peer> peers_of(std::size_t index) const;

  GuardSetting setting_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool is_ending_ = false;
  std::optional<Lost> lost_;
  std::vector<State> states_;
  std::vector<std::pair<std::string, std::string>> separated_;  ///< one that listens, one that is silent
  Clock::time_point separated_since_;
  FileArrivals arrivals_;
  std::vector<std::thread> threads_;  ///< last, since they use the others
};

}  // namespace tandem::machines
