// Messages between `tandem` and the process that watches a machine: JSON, one line each.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "policies/vocabulary/units.hpp"
#include "runtime/machines/rank_ends.hpp"

namespace tandem::machines {

/// The argument of the process.
struct GuardRequest {
  std::string mark;    ///< variable of the ranks' environment, "NAME=VALUE"
  Seconds limit{4.0};  ///< without a question, until it ends the ranks of its machine
  std::string folders =
      {};  ///< of whose files it reports, the paths without the number at the end; empty: none
  std::string files = {};    ///< beginning of the paths in such a folder of the files that it reports
  std::string address = {};  ///< of its machine in the network that it probes; empty: none
};

/// A machine of the network that is probed.
struct Peer {
  std::string machine;
  std::string address;
  int port = 0;
  bool operator==(const Peer&) const = default;
};

/// Orders in a question.
struct GuardOrder {
  std::vector<Peer> peers = {};      ///< to probe from now on; empty: as before
  std::optional<Rank> to_kill = {};  ///< a rank of the machine
  bool operator==(const GuardOrder&) const = default;
};

/// A file that is complete and never changes.
struct FinishedFile {
  std::string folder;
  std::string path;  ///< relative to the folder
  bool operator==(const FinishedFile&) const = default;
};

struct GuardAnswer {
  struct End {
    RankEnd end;
    Seconds age{0};
  };
  std::vector<End> ends = {};
  std::vector<FinishedFile> files = {};  ///< that no answer before has named
  int port = 0;                          ///< on which it answers probes; 0: it does not
  std::vector<std::string> silent = {};  ///< machines whose probes arrived and do not arrive any more
  std::optional<Rank> killed = {};       ///< as this question has ordered
};

std::string to_text(const GuardRequest& request);
/// Empty for an order of nothing.
std::string to_text(const GuardOrder& order);
std::string to_text(const GuardAnswer& answer);
/// Errors: WorldError for another text, such as a login script's.
GuardRequest guard_request_from(const std::string& text);
GuardOrder guard_order_from(const std::string& text);
GuardAnswer guard_answer_from(const std::string& text);

}  // namespace tandem::machines
