#include "validation/compare/headline.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "workloads/records/format.hpp"

namespace tandem::validation {
namespace {

using Group = std::vector<const Contender*>;

/// Those with one name of a group. Where each is alone in its group, all are one group.
std::vector<Group> groups_of(const std::vector<Contender>& contenders) {
  std::vector<std::pair<std::string, Group>> groups;
  for (const auto& contender : contenders) {
    const auto known =
        std::ranges::find_if(groups, [&](const auto& group) { return group.first == contender.group; });
    if (known == groups.end())
      groups.push_back({contender.group, {&contender}});
    else
      known->second.push_back(&contender);
  }
  std::vector<Group> all;
  for (auto& [name, members] : groups) all.push_back(std::move(members));
  if (std::ranges::any_of(all, [](const Group& group) { return group.size() > 1; })) return all;
  Group together;
  for (const auto& contender : contenders) together.push_back(&contender);
  return {std::move(together)};
}

const Contender* fastest_of(const Group& group) {
  return *std::ranges::max_element(group, {}, [](const Contender* one) { return one->throughput; });
}

/// Null when none reached its target.
const Contender* first_at_target(const Group& group) {
  const Contender* first = nullptr;
  for (const Contender* one : group)
    if (one->time_to_target && (first == nullptr || *one->time_to_target < *first->time_to_target))
      first = one;
  return first;
}

const Contender* baseline_of(const Contender& own, const Group& group) {
  const auto found =
      std::ranges::find_if(group, [&](const Contender* one) { return one->name == own.baseline; });
  return found == group.end() || *found == &own ? nullptr : *found;
}

bool has_accuracy(const Group& group) {
  return std::ranges::all_of(group, [](const Contender* one) { return one->has_accuracy; });
}

/// Two members that exchange most differently; nulls when none do.
std::pair<const Contender*, const Contender*> most_different(const Group& group) {
  const auto [least, most] = std::ranges::minmax_element(group, {}, [](const Contender* one) {
    return std::pair(one->exchanges.steps, one->exchanges.staleness);
  });
  if (!(*most)->exchanges.differ_from((*least)->exchanges)) return {nullptr, nullptr};
  return {*least, *most};
}

/// "(esync: 243 local steps per exchange, ...; bsp: ...)".
std::string exchanges_text(const Contender& own, const Contender* other) {
  std::string text = fmt::format("({}: {}", own.name, own.exchanges.text());
  if (other != nullptr) text += fmt::format("; {}: {}", other->name, other->exchanges.text());
  return text + ")";
}

std::string accuracy_text(double accuracy) { return fmt::format("{:.4g}", accuracy); }

std::string target_sentence(const Contender& best, const Group& group) {
  const Contender* baseline = baseline_of(best, group);
  std::string text =
      fmt::format("{} reaches an accuracy of {} first, after {}", best.name,
                  accuracy_text(best.target.value_or(0)), with_unit(*best.time_to_target, Unit::seconds));
  if (baseline != nullptr && best.target_speed_up)
    text += fmt::format(", {}x as fast as {}", three_digits(*best.target_speed_up), baseline->name);
  return text + " " + exchanges_text(best, baseline) + ".";
}

/// A limit of a speed-up in throughput, in words.
std::string caveat_of(const Contender& best, const Contender* other, bool is_accuracy_known) {
  if (other != nullptr && best.exchanges.differ_from(other->exchanges))
    return is_accuracy_known
               ? " This is no speed-up of training: the curves of accuracy say what the different "
                 "exchange costs, and a target_accuracy gives the time to it."
               : " This is no speed-up of training: samples are counted, whatever the different "
                 "exchange costs in accuracy, which was not simulated.";
  return is_accuracy_known ? "" : " Accuracy was not simulated.";
}

/// Less than a per cent between the slowest and the fastest is no answer to "which one".
bool are_equal(const Group& group) {
  constexpr double almost = 0.99;
  const double most = fastest_of(group)->throughput;
  return group.size() > 1 &&
         std::ranges::all_of(group, [&](const Contender* one) { return one->throughput >= almost * most; });
}

std::string throughput_sentence(const Contender& best, const Group& group) {
  if (are_equal(group))
    return fmt::format(
        "All {} configurations process about as many samples per second, {}: they differ by "
        "less than 1 %.{}",
        group.size(), with_unit(best.throughput, Unit::samples_per_second),
        caveat_of(best, nullptr, has_accuracy(group)));
  const Contender* baseline = baseline_of(best, group);
  std::string text = fmt::format("{} processes the most samples per second, {}", best.name,
                                 with_unit(best.throughput, Unit::samples_per_second));
  if (group.size() == 1)
    text = fmt::format("{} processes {}", best.name, with_unit(best.throughput, Unit::samples_per_second));
  if (baseline != nullptr && best.speed_up)
    text += fmt::format(", {}x the throughput of {}", three_digits(*best.speed_up), baseline->name);
  const auto [least, most] = most_different(group);
  const Contender* other = baseline;
  if (other == nullptr && least != nullptr) other = least == &best ? most : least;
  return text + " " + exchanges_text(best, other) + "." + caveat_of(best, other, has_accuracy(group));
}

std::string sentence_of(const Group& group) {
  if (const Contender* first = first_at_target(group)) return target_sentence(*first, group);
  const bool has_target = std::ranges::all_of(
      group, [](const Contender* one) { return one->target.has_value() && one->has_accuracy; });
  const std::string missed = has_target ? fmt::format("No configuration reaches an accuracy of {}. ",
                                                      accuracy_text(group.front()->target.value_or(0)))
                                        : "";
  return missed + throughput_sentence(*fastest_of(group), group);
}

/// "esync is best in 4 of 6 groups, bsp in 2", and the sentence of the group with the largest speed-up.
std::string sentence_of(const std::vector<Group>& groups) {
  std::map<std::string, int> wins;
  const Group* widest = nullptr;
  double largest = 0;
  for (const auto& group : groups) {
    const Contender* first = first_at_target(group);
    const Contender& best = first != nullptr ? *first : *fastest_of(group);
    ++wins[best.algorithm.empty() ? best.name : best.algorithm];
    const double gain = (first != nullptr ? best.target_speed_up : best.speed_up).value_or(0);
    if (widest != nullptr && gain <= largest) continue;
    widest = &group;
    largest = gain;
  }
  std::vector<std::pair<std::string, int>> order(wins.begin(), wins.end());
  std::ranges::stable_sort(order, [](const auto& a, const auto& b) { return a.second > b.second; });
  constexpr std::size_t most = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(order.size(), most); ++i)
    text += fmt::format("{}{} in {}", i == 0 ? "" : ", ", order[i].first, order[i].second);
  if (order.size() > most) text += " and others in the rest";
  return fmt::format("Best of {} groups: {}. The largest speed-up: {}", groups.size(), text,
                     sentence_of(*widest));
}

void warn_of_different_exchanges(const std::vector<Group>& groups, std::vector<std::string>& warnings) {
  std::size_t count = 0;
  std::pair<const Contender*, const Contender*> shown{nullptr, nullptr};
  for (const auto& group : groups) {
    if (has_accuracy(group)) continue;
    const auto pair = most_different(group);
    if (pair.first == nullptr) continue;
    if (count++ == 0) shown = pair;
  }
  if (count == 0) return;
  warnings.push_back(
      fmt::format("Configurations differ in how often they exchange, or in how old the models are that they "
                  "compute on ({}: {}; "
                  "{}: {}{}), and nothing here says what that costs in accuracy, so their throughputs do not "
                  "say which one "
                  "trains faster. To find out, simulate accuracy: workload.math: real, evaluate_every and "
                  "target_accuracy.",
                  shown.first->name, shown.first->exchanges.text(), shown.second->name,
                  shown.second->exchanges.text(), count == 1 ? "" : fmt::format("; so in {} groups", count)));
}

/// Two with one learning rate, of which one updates the model much more often; nulls when there are none.
std::pair<const Contender*, const Contender*> of_one_rate(const Group& group) {
  constexpr double much = 1.5;
  std::pair<const Contender*, const Contender*> widest{nullptr, nullptr};
  double largest = much;
  for (const Contender* one : group)
    for (const Contender* other : group) {
      const double ratio = one->exchanges.count / std::max(1.0, other->exchanges.count);
      if (!one->learning_rate || one->learning_rate != other->learning_rate || ratio <= largest) continue;
      widest = {one, other};
      largest = ratio;
    }
  return widest;
}

void warn_of_one_rate(const std::vector<Group>& groups, std::vector<std::string>& warnings) {
  for (const auto& group : groups) {
    const auto [more, fewer] =
        has_accuracy(group) ? of_one_rate(group) : std::pair<const Contender*, const Contender*>{};
    if (more == nullptr) continue;
    warnings.push_back(fmt::format(
        "Configurations have one learning rate ({}), though they update the model differently often ({}: {} "
        "times, "
        "{}: {} times): their accuracies compare them at this rate, which suits some better than others. To "
        "compare each at its best, set optimizer.learning_rate for each.",
        *more->learning_rate, more->name, with_separators(std::llround(more->exchanges.count)), fewer->name,
        with_separators(std::llround(fewer->exchanges.count))));
    return;
  }
}

Interval interval_of(const Contender& one) {
  return one.interval.value_or(Interval{one.throughput, one.throughput});
}

/// The first other one whose throughput the simulations do not distinguish from the best; null: none.
const Contender* rival_of(const Contender& best, const Group& group) {
  for (const Contender* other : group) {
    if (other == &best || (!best.interval && !other->interval)) continue;
    if (interval_of(*other).high >= interval_of(best).low) return other;
  }
  return nullptr;
}

std::string interval_text(const Contender& one) {
  const auto end = [](double value) { return with_unit(value, Unit::samples_per_second); };
  const Interval interval = interval_of(one);
  return interval.low == interval.high
             ? fmt::format("{} {}", one.name, end(interval.low))
             : fmt::format("{} {} to {}", one.name, end(interval.low), end(interval.high));
}

void warn_of_overlaps(const std::vector<Group>& groups, std::vector<std::string>& warnings) {
  std::size_t count = 0;
  std::string shown;
  for (const auto& group : groups) {
    // The order by time to the target may be another one.
    if (group.size() < 2 || first_at_target(group) != nullptr) continue;
    const Contender& best = *fastest_of(group);
    const Contender* rival = rival_of(best, group);
    if (rival != nullptr && count++ == 0) shown = interval_text(best) + ", " + interval_text(*rival);
  }
  if (count == 0) return;
  warnings.push_back(fmt::format(
      "The simulations do not tell which configuration is the fastest{}: the 90 % intervals of throughput "
      "overlap ({}).",
      count == 1 ? "" : fmt::format(" in {} groups", count), shown));
}

}  // namespace

bool Exchanges::differ_from(const Exchanges& other) const {
  constexpr double few = 0.05, updates = 0.5;
  return std::abs(std::log(steps / other.steps)) > few || std::abs(staleness - other.staleness) > updates;
}

std::string Exchanges::text() const {
  const auto number = [](double value) {
    return value == std::floor(value) ? with_separators(std::llround(value)) : three_digits(value);
  };
  return fmt::format("{} local step{} per exchange, {} exchange{}, mean staleness {}", number(steps),
                     steps == 1 ? "" : "s", number(count), count == 1 ? "" : "s", number(staleness));
}

Exchanges exchanges_of(const std::optional<DistributionSummary>& local_steps, double rounds,
                       const std::optional<DistributionSummary>& staleness) {
  const auto mean_of = [](const std::optional<DistributionSummary>& distribution, double otherwise) {
    return distribution ? distribution->mean : otherwise;
  };
  return {mean_of(local_steps, 1), rounds, mean_of(staleness, 0)};
}

std::string question_line(const std::vector<std::vector<std::string>>& questions) {
  std::vector<std::string> different;
  for (const auto& lines : questions) {
    const std::string line = fmt::format("{}", fmt::join(lines, "; "));
    if (!line.empty() && std::ranges::find(different, line) == different.end()) different.push_back(line);
  }
  if (different.size() <= 1) return different.empty() ? "" : different.front();
  return fmt::format("{} (the first of {} different jobs)", different.front(), different.size());
}

Headline headline_of(const std::vector<Contender>& contenders) {
  Headline headline;
  if (contenders.empty()) return headline;
  const auto groups = groups_of(contenders);
  headline.warnings = exchange_warnings(contenders);
  headline.text = groups.size() == 1 ? sentence_of(groups.front()) : sentence_of(groups);
  warn_of_overlaps(groups, headline.warnings);
  return headline;
}

std::vector<std::string> exchange_warnings(const std::vector<Contender>& contenders) {
  const auto groups = groups_of(contenders);
  std::vector<std::string> warnings;
  warn_of_different_exchanges(groups, warnings);
  warn_of_one_rate(groups, warnings);
  return warnings;
}

}  // namespace tandem::validation
