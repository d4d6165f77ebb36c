// Runs <algorithm>.script of this folder for every algorithm of the catalogue; a missing script is a failure.
#include "tests/support/script.hpp"

#include <gtest/gtest.h>

#include "policies/sync/policy.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/stream_text.hpp"
#include "tests/support/names.hpp"
#include "tests/support/paths.hpp"

namespace tandem::sync {

Algorithm hurried();  // tests/examples/hurried.cpp

namespace TANDEM_FILE {

using testing::Words;

/// Commands: `workers P [OPTION=VALUE ...]`, which starts again; then `push WORKER VERSION`, `left WORKER`,
/// `lost WORKER`, whose push is dropped, `joined WORKER VERSION`, `report WORKER STEPS DURATION` and, for the
/// worker's side, `begin WORKER`, `step LOCAL_STEPS` (of worker 0), `new WORKER`, which replaces its object,
/// `members ROUND WORKER...` and `neighbours WORKER`. Optional words at the end: `worker=2` selects the
/// worker of a step, `answer=1` is the coordinator's answer, `at=SECONDS` sets the clock, and for a push
/// `samples=8`, `steps=1`, `took=SECONDS`, `loss=1`, `done=SHARE`, `rate=FACTOR` and `cancelled=1`.
class Player {
 public:
  explicit Player(const std::string& algorithm) : Player(catalog().find(algorithm)) {}
  /// `entry` must outlive it.
  explicit Player(const Algorithm& entry) : entry_(entry) {}

  std::string answer(Words words) {
    if (words.at(0) == "workers") return start(words);
    Push push{now_, 0, 0, 8, 1, Seconds(1), 1.0, 0.0};
    who_ = 0;
    answer_.reset();
    for (; words.back().find('=') != std::string::npos; words.pop_back()) set_field(words.back(), push);
    push.now = now_;
    const std::string& command = words.at(0);
    const int number = std::stoi(words.at(1));
    ServerDecisions decisions;
    if (command == "push") {
      push.worker = number;
      push.version = std::stoi(words.at(2));
      server_->on_push(push, decisions);
    } else if (command == "left" || command == "lost")
      server_->on_left({now_, number, command == "lost"}, decisions);
    else if (command == "joined")
      server_->on_joined(
          {now_, number, versions_.at(static_cast<std::size_t>(number)) = std::stoi(words.at(2))}, decisions);
    else if (command == "report")
      server_->on_report({now_, number, versions_.at(static_cast<std::size_t>(number)),
                          std::stoi(words.at(2)), Seconds(std::stod(words.at(3)))},
                         decisions);
    else if (command == "begin")
      return began(number);
    else if (command == "step")
      return to_text(workers_.at(who_)->on_step_done({now_, Seconds(1), 8, number, answer_}));
    else if (command == "new")
      return renew(number);
    else if (command == "members")
      return announce_members(words);
    else if (command == "neighbours")
      return neighbours_of(number);
    else
      return "unknown command";
    note_versions(decisions);
    return to_text(decisions);
  }

 private:
  std::string renew(int worker) {
    workers_.at(static_cast<std::size_t>(worker)) = entry_.make.make_worker(*setting_, worker);
    return "";
  }

  /// All members get the event.
  std::string announce_members(const Words& words) {
    Members members{std::stoi(words.at(1)), {}};
    for (std::size_t i = 2; i < words.size(); ++i) members.workers.push_back(std::stoi(words[i]));
    for (const int worker : members.workers)
      workers_.at(static_cast<std::size_t>(worker))->on_members(members);
    return "";
  }

  std::string neighbours_of(int worker) {
    const Neighbours all = workers_.at(static_cast<std::size_t>(worker))->neighbours();
    std::string text = "incoming";
    for (const int other : all.incoming) text += ' ' + std::to_string(other);
    text += " outgoing";
    for (const int other : all.outgoing) text += ' ' + std::to_string(other);
    return text;
  }

  void note_versions(const ServerDecisions& decisions) {
    for (const auto& decision : decisions) {
      if (std::holds_alternative<Apply>(decision)) ++version_;
      const auto* reply = std::get_if<Reply>(&decision);
      if (reply != nullptr && !reply->keeps_model)
        versions_.at(static_cast<std::size_t>(reply->worker)) = version_;
    }
  }

  std::string began(int worker) {
    WorkerPolicy& policy = *workers_.at(static_cast<std::size_t>(worker));
    if (policy.passes({0})) return "pass";
    const auto exchange = policy.on_step_begin({0});
    return exchange ? to_text(WorkerDecision(*exchange)) : "local";
  }

  void set_field(const std::string& word, Push& push) {
    const auto [key, text] = testing::name_and_value(word);
    const double value = std::stod(text);
    if (key == "worker") who_ = static_cast<std::size_t>(value);
    if (key == "answer") answer_ = value == 1.0;
    if (key == "at") now_ = Seconds(value);
    if (key == "samples") push.samples = static_cast<int>(value);
    if (key == "steps") push.local_steps = static_cast<int>(value);
    if (key == "took") push.duration = Seconds(value);
    if (key == "loss") push.loss = value;
    if (key == "done") push.done = value;
    if (key == "rate") push.rate = value;
    if (key == "cancelled") push.cancelled = value == 1.0;
  }

  std::string start(const Words& words) {
    std::map<std::string, OptionValue> options;
    for (std::size_t i = 2; i < words.size(); ++i) {
      const auto [name, value] = testing::name_and_value(words[i]);
      options[name] = testing::option_value(value);
    }
    try {
      const Setting setting{std::stoi(words.at(1)), 8, entry_.make.routes.front(),
                            Options::resolve(entry_.name, entry_.options, options)};
      workers_.clear();
      for (int worker = 0; worker < setting.workers; ++worker)
        workers_.push_back(entry_.make.make_worker(setting, worker));
      if (entry_.make.make_server != nullptr) server_ = entry_.make.make_server(setting);
      setting_ = setting;
      version_ = 0;
      versions_.assign(static_cast<std::size_t>(setting.workers), 0);
    } catch (const ConfigError& error) {
      return error.what();
    }
    now_ = Seconds(0.0);
    return "";
  }

  const Catalog<Factory>::Entry& entry_;
  std::vector<std::unique_ptr<WorkerPolicy>> workers_;
  std::size_t who_ = 0;
  std::optional<bool> answer_;
  std::unique_ptr<ServerPolicy> server_;
  std::optional<Setting> setting_;
  int version_ = 0;
  std::vector<int> versions_;  ///< of the model that each worker has
  Seconds now_;
};

class SyncScript : public ::testing::TestWithParam<std::string> {};

TEST_P(SyncScript, GivesTheExpectedDecisions) {
  testing::play_script<Player>(testing::source_folder() + "/tests/policies/sync", GetParam());
}

INSTANTIATE_TEST_SUITE_P(Catalogue, SyncScript, ::testing::ValuesIn(catalog().names()),
                         testing::catalog_name);

// ---- The complete algorithm of policies/README.md ----

TEST(SyncExample, GivesTheExpectedDecisions) {
  const Algorithm algorithm = hurried();
  Player player(algorithm);
  testing::run_script(testing::source_folder() + "/tests/examples/hurried.script",
                      [&](const Words& words) { return player.answer(words); });
}

TEST(SyncExample, IsShownByThePage) {
  const auto text_of = [](const std::string& file) {
    std::ifstream stream(testing::source_folder() + file);
    return rest_of(stream);
  };
  const std::string page = text_of("/policies/README.md");
  for (const char* file : {"/tests/examples/hurried.cpp", "/tests/examples/hurried.script"})
    EXPECT_NE(page.find("\n" + text_of(file) + "```\n"), std::string::npos) << file;
}

}  // namespace TANDEM_FILE
}  // namespace tandem::sync
