#include "policies/cache/text.hpp"

#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <sstream>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/text_parts.hpp"

namespace tandem::cache {
namespace {

constexpr std::array outcome_names = {"here", "not-here", "gone", "bad"};
constexpr std::array state_names = {"starts", "probed", "ends", "bypasses", "returns"};

// ---- Writing ----

template <class Items, class Text>
std::string joined(const Items& items, const char* separator, const Text& text) {
  std::string all;
  const char* between = "";
  for (const auto& item : items) {
    all += between + text(item);
    between = separator;
  }
  return all;
}

template <class Number>
std::string numbers(std::span<const Number> values) {
  return joined(values, ",", [](Number value) { return std::to_string(value); });
}

std::string sized(SampleId id, Bytes size) {
  return std::to_string(id) + (size == Bytes(1) ? "" : ":" + std::to_string(size.count()));
}

std::string number_of(float value) {
  char text[32];
  const auto [end, error] = std::to_chars(std::begin(text), std::end(text), value);
  return {text, end};
}

std::string place_text(const Place& place) {
  static constexpr std::array names = {"tier", "peer", "store"};
  const std::string name = names[static_cast<std::size_t>(place.where)];
  const bool numbered = place.where == Where::peer || place.number != 0;
  return numbered ? name + std::to_string(place.number) : name;
}

std::string of_job(int job) { return job == 0 ? "" : " job=" + std::to_string(job); }

// ---- Reading ----

/// The parts of "name key=value word ...".
class Reader {
 public:
  explicit Reader(const std::string& text) : text_(text) {
    std::istringstream words(text);
    words >> name;
    for (std::string word; words >> word;) {
      const auto equals = word.find('=');
      if (equals == std::string::npos)
        rest.push_back(word);
      else
        values_[word.substr(0, equals)] = word.substr(equals + 1);
    }
  }
  [[noreturn]] void fail() const { throw ConfigError("not a recorded cache event: '" + text_ + "'"); }

  template <class Number>
  Number parse(const std::string& text) const {
    const auto value = parse_number<Number>(text);
    if (!value) fail();
    return *value;
  }
  template <class Number>
  Number get(const std::string& key, Number otherwise) const {
    const auto found = values_.find(key);
    return found == values_.end() ? otherwise : parse<Number>(found->second);
  }
  std::string text(const std::string& key) const {
    const auto found = values_.find(key);
    return found == values_.end() ? "" : found->second;
  }
  template <class Number>
  std::vector<Number> list(const std::string& text) const {
    std::vector<Number> values;
    for (const auto& part : split(text, ',')) values.push_back(parse<Number>(part));
    return values;
  }
  Sample sample(const std::string& text) const {
    const auto parts = split(text, ':');
    if (parts.empty() || parts.size() > 2) fail();
    return {parse<SampleId>(parts[0]), Bytes(parts.size() == 2 ? parse<std::int64_t>(parts[1]) : 1)};
  }
  Place place(const std::string& text) const {
    for (const auto& [name, where] :
         {std::pair{"tier", Where::tier}, {"peer", Where::peer}, {"store", Where::store}}) {
      if (!text.starts_with(name)) continue;
      const std::string number = text.substr(std::string(name).size());
      return {where, number.empty() ? std::int16_t{0} : parse<std::int16_t>(number)};
    }
    fail();
  }
  template <std::size_t count>
  int choice(const std::array<const char*, count>& names, const std::string& text) const {
    for (std::size_t i = 0; i < count; ++i)
      if (text == names[i]) return static_cast<int>(i);
    fail();
  }

  std::string name;
  std::vector<std::string> rest;  ///< the words without '='

 private:
  std::string text_;
  std::map<std::string, std::string> values_;
};

void replay_want(const Reader& reader, CachePolicy& policy, Decisions& decisions) {
  std::vector<Sample> now;
  for (const auto& part : split(reader.text("now"), ',')) now.push_back(reader.sample(part));
  const auto ahead = reader.list<SampleId>(reader.text("ahead"));
  const auto low = reader.list<std::uint8_t>(reader.text("low"));
  policy.on_want({reader.get("job", 0), reader.get("epoch", std::int64_t{0}), now, ahead, low}, decisions);
}

/// The words "ID place why outcome," of each arrival.
void replay_arrived(const Reader& reader, CachePolicy& policy, Decisions& decisions) {
  if (reader.rest.size() % 4 != 0) reader.fail();
  std::vector<Arrived> arrived;
  for (std::size_t i = 0; i < reader.rest.size(); i += 4) {
    std::string outcome = reader.rest[i + 3];
    if (outcome.ends_with(',')) outcome.pop_back();
    const auto [id, size] = reader.sample(reader.rest[i]);
    arrived.push_back({id, size, reader.place(reader.rest[i + 1]),
                       static_cast<Why>(reader.choice(why_names, reader.rest[i + 2])),
                       static_cast<Arrived::Outcome>(reader.choice(outcome_names, outcome))});
  }
  policy.on_arrived(arrived, decisions);
}

void replay_epoch(const Reader& reader, CachePolicy& policy, Decisions& decisions) {
  std::vector<std::vector<SampleId>> lists;
  for (const auto& part : split(reader.text("lists"), ';')) lists.push_back(reader.list<SampleId>(part));
  const auto low = reader.list<std::uint8_t>(reader.text("low"));
  policy.on_epoch({reader.get("job", 0), reader.get("epoch", std::int64_t{0}), lists, low,
                   reader.get("taken", std::int64_t{0})},
                  decisions);
}

void replay_directory(const Reader& reader, CachePolicy& policy, Decisions& decisions) {
  std::vector<Holder> holders;
  for (const auto& word : reader.rest)
    for (const auto& part : split(word, ',')) {
      const auto at = part.find('@');
      if (at == std::string::npos) reader.fail();
      holders.push_back({reader.parse<SampleId>(part.substr(0, at)), reader.parse<int>(part.substr(at + 1))});
    }
  policy.on_directory(holders, decisions);
}

}  // namespace

std::string to_text(const Want& event) {
  std::string text = "want" + of_job(event.job);
  if (event.epoch != 0) text += " epoch=" + std::to_string(event.epoch);
  text +=
      " now=" + joined(event.now, ",", [](const Sample& sample) { return sized(sample.id, sample.size); });
  if (!event.ahead.empty()) text += " ahead=" + numbers(event.ahead);
  if (!event.low.empty()) text += " low=" + numbers(event.low);
  return text;
}

std::string to_text(std::span<const Arrived> event) {
  return "arrived " + joined(event, ", ", [](const Arrived& read) {
           return sized(read.id, read.size) + ' ' + place_text(read.from) + ' ' +
                  why_names[static_cast<std::size_t>(read.why)] + ' ' +
                  outcome_names[static_cast<std::size_t>(read.outcome)];
         });
}

std::string to_text(const EpochBegins& event) {
  std::string text = "epoch" + of_job(event.job) + " epoch=" + std::to_string(event.epoch);
  if (!event.lists.empty())
    text += " lists=" + joined(event.lists, ";", [](const std::vector<SampleId>& list) {
              return numbers(std::span<const SampleId>(list));
            });
  if (!event.low.empty()) text += " low=" + numbers(event.low);
  if (event.taken != 0) text += " taken=" + std::to_string(event.taken);
  return text;
}

std::string to_text(int job, std::span<const float> losses) {
  return "importance" + of_job(job) + " losses=" + joined(losses, ",", number_of);
}

std::string to_text(const JobChange& event) {
  return "job" + of_job(event.job) + " state=" + state_names[static_cast<std::size_t>(event.state)] +
         (event.benefit == 0.0 ? "" : " benefit=" + tandem::to_text(OptionValue(event.benefit)));
}

std::string to_text(const PeerChange& event) {
  return "peer node=" + std::to_string(event.node) + " joins=" + (event.joins ? "1" : "0");
}

std::string to_text(std::span<const Holder> event) {
  return "directory " + joined(event, ",", [](const Holder& holder) {
           return std::to_string(holder.id) + '@' + std::to_string(holder.node);
         });
}

std::string idle_text(Bytes room) { return "idle room=" + std::to_string(room.count()); }

std::string to_text(const Decisions& decisions) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
  if (!decisions.serve.empty())
    add("serve " + joined(decisions.serve, ", ", [](const Serve& serve) {
          const std::string given =
              serve.given == serve.asked ? "" : (serve.swapped ? '~' : '=') + std::to_string(serve.given);
          return std::to_string(serve.asked) + given + ' ' + place_text(serve.from);
        }));
  for (const Fetch& read : decisions.fetch) {
    std::string part = why_names[static_cast<std::size_t>(read.why)];
    part += ' ' + place_text(read.from);
    for (const SampleId id : decisions.ids_of(read)) part += ' ' + std::to_string(id);
    add(part);
  }
  for (const Pack& package : decisions.pack) {
    std::string part = "pack";
    for (const SampleId id : decisions.ids_of(package)) part += ' ' + std::to_string(id);
    add(part);
  }
  for (const Move& move : decisions.move) {
    const bool comes = move.from == outside, leaves = move.to == outside;
    const int there = comes ? move.to : move.from;
    std::string part = (comes ? "keep " : leaves ? "drop " : "move ") + std::to_string(move.id);
    if (!comes && !leaves)
      part += ' ' + std::to_string(move.from) + '>' + std::to_string(move.to);
    else if (there != 0)
      part += " tier" + std::to_string(there);
    add(part);
  }
  for (const SampleId id : decisions.published) add("publish " + std::to_string(id));
  for (const SampleId id : decisions.withdrawn) add("withdraw " + std::to_string(id));
  return text;
}

void replay_event(CachePolicy& policy, const std::string& text, Decisions& decisions) {
  const Reader reader(text);
  if (reader.name == "want") return replay_want(reader, policy, decisions);
  if (reader.name == "arrived") return replay_arrived(reader, policy, decisions);
  if (reader.name == "epoch") return replay_epoch(reader, policy, decisions);
  if (reader.name == "importance")
    return policy.on_importance(reader.get("job", 0), reader.list<float>(reader.text("losses")), decisions);
  if (reader.name == "job")
    return policy.on_job({reader.get("job", 0),
                          static_cast<JobChange::State>(reader.choice(state_names, reader.text("state"))),
                          reader.get("benefit", 0.0)},
                         decisions);
  if (reader.name == "peer")
    return policy.on_peer({reader.get("node", 0), reader.get("joins", 0) != 0}, decisions);
  if (reader.name == "directory") return replay_directory(reader, policy, decisions);
  if (reader.name == "idle") return policy.on_idle(Bytes(reader.get("room", std::int64_t{0})), decisions);
  reader.fail();
}

}  // namespace tandem::cache
