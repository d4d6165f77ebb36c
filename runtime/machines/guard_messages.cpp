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

json to_json(const std::optional<Rank>& rank) { return rank ? json(*rank) : json(); }

std::optional<Rank> rank_in(const json& value) {
  return value.is_null() ? std::nullopt : std::optional(value.get<Rank>());
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

std::string to_text(const GuardOrder& order) {
  if (order == GuardOrder()) return "";
  json peers = json::array();
  for (const auto& peer : order.peers) peers.push_back({peer.machine, peer.address, peer.port});
  return json{{"peers", peers}, {"kill", to_json(order.to_kill)}}.dump();
}

GuardOrder guard_order_from(const std::string& text) {
  if (text.empty()) return {};
  return parsed(text, [](const json& all) {
    GuardOrder order{.to_kill = rank_in(all.at("kill"))};
    for (const auto& one : all.at("peers")) order.peers.push_back({one.at(0), one.at(1), one.at(2)});
    return order;
  });
}

std::string to_text(const GuardAnswer& answer) {
  json ends = json::array(), files = json::array();
  for (const auto& [end, age] : answer.ends)
    ends.push_back({end.rank, static_cast<int>(end.how), end.number, age.count()});
  for (const auto& file : answer.files) files.push_back({file.folder, file.path});
  return json{{"ends", ends},
              {"files", files},
              {"port", answer.port},
              {"silent", answer.silent},
              {"killed", to_json(answer.killed)}}
      .dump();
}

GuardAnswer guard_answer_from(const std::string& text) {
  return parsed(text, [](const json& all) {
    GuardAnswer answer{
        .port = all.at("port"), .silent = all.at("silent"), .killed = rank_in(all.at("killed"))};
    for (const auto& one : all.at("ends")) {
      const RankEnd end{one.at(0), static_cast<RankEnd::How>(one.at(1).get<int>()), one.at(2)};
      answer.ends.push_back({end, Seconds(one.at(3).get<double>())});
    }
    for (const auto& one : all.at("files")) answer.files.push_back({one.at(0), one.at(1)});
    return answer;
  });
}

}  // namespace tandem::machines
