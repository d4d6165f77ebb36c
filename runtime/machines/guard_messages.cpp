#include "runtime/machines/guard_messages.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "policies/vocabulary/check.hpp"

namespace tandem::machines {
namespace {

using nlohmann::json;

/// Runs `read` on the parsed text.
template <typename Read>
auto parsed(const std::string& text, Read read) {
  try {
    return read(json::parse(text));
  } catch (const json::exception&) {
    throw WorldError(fmt::format(
        "another version of tandem-rank, or a login script that prints: expected JSON, found '{}'",
        text.substr(0, 80)));
  }
}

}  // namespace

std::string to_text(const GuardRequest& request) {
  return json{{"mark", request.mark},
              {"limit_s", request.limit.count()},
              {"folders", request.folders},
              {"files", request.files},
              {"address", request.address}}
      .dump();
}

GuardRequest guard_request_from(const std::string& text) {
  return parsed(text, [](const json& all) {
    return GuardRequest{.mark = all.at("mark"),
                        .limit = Seconds(all.at("limit_s").get<double>()),
                        .folders = all.at("folders"),
                        .files = all.at("files"),
                        .address = all.at("address")};
  });
}

std::string to_text(const std::vector<Peer>& peers) {
  json all = json::array();
  for (const auto& peer : peers) all.push_back({peer.machine, peer.address, peer.port});
  return all.dump();
}

std::vector<Peer> peers_from(const std::string& text) {
  return parsed(text, [](const json& all) {
    std::vector<Peer> peers;
    for (const auto& one : all) peers.push_back({one.at(0), one.at(1), one.at(2)});
    return peers;
  });
}

std::string to_text(const GuardAnswer& answer) {
  json ends = json::array(), files = json::array();
  for (const auto& [end, age] : answer.ends)
    ends.push_back({end.rank, static_cast<int>(end.how), end.number, age.count()});
  for (const auto& file : answer.files) files.push_back({file.folder, file.path});
  return json{{"ends", ends}, {"files", files}, {"port", answer.port}, {"silent", answer.silent}}.dump();
}

GuardAnswer guard_answer_from(const std::string& text) {
  return parsed(text, [](const json& all) {
    GuardAnswer answer{.port = all.at("port"), .silent = all.at("silent")};
    for (const auto& one : all.at("ends")) {
      const RankEnd end{one.at(0), static_cast<RankEnd::How>(one.at(1).get<int>()), one.at(2)};
      answer.ends.push_back({end, Seconds(one.at(3).get<double>())});
    }
    for (const auto& one : all.at("files")) answer.files.push_back({one.at(0), one.at(1)});
    return answer;
  });
}

}  // namespace tandem::machines
