// The list of compression methods, in the order in which `tandem list compression` prints them.
#include <algorithm>
#include <cmath>

#include "policies/compression/methods.hpp"

namespace tandem::compression {
namespace {

Entry none() {
  return {.name = "none",
          .summary = "no compression: every number in 32 bits",
          .paper = "",
          .options = {},
          .make = {.sharing = Sharing::summed, .make = nullptr}};
}

}  // namespace

const Catalog<Factory>& catalog() {
  static const Catalog<Factory> table(
      "compression", {none(), fp16(), bf16(), top_k(), dgc(), random_k(), sign(), one_bit(), qsgd(),
                      terngrad(), two_bit(), power_sgd(), lossless()});
  return table;
}

OptionSpec error_feedback_option(bool default_value) {
  return {.name = "error_feedback",
          .summary = "error feedback: add the compression error of a message to the next one",
          .default_value = default_value};
}

OptionSpec ratio_option() {
  return {.name = "ratio",
          .summary = "share of the elements that a message contains, at least one element",
          .default_value = 0.01,
          .minimum = 1e-6,
          .maximum = 1.0};
}

OptionSpec integer_option(const std::string& name, const std::string& summary, std::int64_t default_value,
                          double minimum, double maximum) {
  return {.name = name,
          .summary = summary,
          .default_value = default_value,
          .minimum = minimum,
          .maximum = maximum};
}

bool have_lengths(const Factory& method, const Options& options) {
  return method.sharing == Sharing::none || (method.lengths_vary != nullptr && method.lengths_vary(options));
}

bool has_error_feedback(const Options& options) {
  return options.values().contains("error_feedback") && options.boolean("error_feedback");
}

std::string describe(const std::string& method, const Options& options) {
  std::string text;
  for (const auto& [name, value] : options.values())
    text += (text.empty() ? "" : ", ") + name + ' ' + to_text(value);
  return text.empty() ? method : method + " (" + text + ')';
}

std::int64_t count_of_share(double share, std::int64_t elements) {
  const auto count = static_cast<std::int64_t>(std::llround(share * static_cast<double>(elements)));
  return std::clamp<std::int64_t>(count, std::min<std::int64_t>(1, elements), elements);
}

double feedback_bytes(const Options& options) {
  return has_error_feedback(options) ? 5.0 * sizeof(float) : 0.0;
}

}  // namespace tandem::compression
