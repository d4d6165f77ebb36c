// The types of experiment keys: as text for people, and the values that they accept.
#include <charconv>
#include <cmath>

#include "policies/vocabulary/quantity_text.hpp"
#include "workloads/experiment/keys.hpp"

namespace tandem {
namespace {

std::string number_text(double number) {
  char buffer[32];
  // Bounds are small or whole: digits read better than exponents.
  return std::string(buffer,
                     std::to_chars(buffer, buffer + sizeof buffer, number, std::chars_format::fixed).ptr);
}

std::string bounds_text(const Accepts& accepts) {
  const bool has_minimum = std::isfinite(accepts.minimum);
  const bool has_maximum = std::isfinite(accepts.maximum);
  std::string text;
  if (has_minimum) text += (accepts.without_minimum ? " > " : " >= ") + number_text(accepts.minimum);
  if (has_minimum && has_maximum) text += " and";
  if (has_maximum) text += (accepts.without_maximum ? " < " : " <= ") + number_text(accepts.maximum);
  return text;
}

struct TypeText {
  const Accepts& accepts;
  std::string operator()(const std::string*) const {
    if (accepts.file_path) return "path";
    return accepts.names == Names::none ? "text" : "name";
  }
  std::string operator()(const bool*) const { return "true | false"; }
  std::string operator()(const int*) const {
    return "integer" + bounds_text(accepts) + (accepts.zero.empty() ? "" : " | " + accepts.zero);
  }
  std::string operator()(const std::int64_t*) const { return "integer" + bounds_text(accepts); }
  std::string operator()(const std::uint64_t*) const { return "integer >= 0"; }
  std::string operator()(const double*) const { return "number" + bounds_text(accepts); }
  std::string operator()(const Bytes*) const { return "size" + bounds_text(accepts) + " (like 4MiB)"; }
  std::string operator()(const Seconds*) const {
    return "time" + bounds_text(accepts) + " (" + time_examples() + ")";
  }
  std::string operator()(const Flops*) const { return "work" + bounds_text(accepts) + " (like 20Mflop)"; }
  std::string operator()(const ChoiceField& field) const {
    std::string text;
    for (const auto& name : field.names()) text += (text.empty() ? "" : " | ") + name;
    return text;
  }
  std::string operator()(const Percent*) const { return "0% to 100% of " + accepts.percent_of; }
  std::string operator()(const Either& field) const {
    return std::visit(*this, field.first) + " | " + std::visit(*this, field.second);
  }
  std::string operator()(const std::vector<std::string>*) const {
    if (accepts.buckets) return "list of buckets (like [8MB 30ms, 100MB 95ms])";
    return accepts.tensors ? "list of tensors (like [4MB, 16kB]), or path" : "list of names";
  }
  std::string operator()(const OptionValues*) const { return "map of options"; }
  std::string operator()(const Variants*) const { return "map of variants"; }
};

}  // namespace

std::string describe_type(const ExperimentKey& key) {
  Experiment any;
  return std::visit(TypeText{key.accepts}, key.field(any));
}

bool takes_text(const ExperimentKey& key) {
  Experiment any;
  const Field field = key.field(any);
  return std::holds_alternative<std::string*>(field) ||
         std::holds_alternative<std::vector<std::string>*>(field) ||
         std::holds_alternative<ChoiceField>(field);
}

}  // namespace tandem
