// The table of compressions. A new one is a source file and an entry here.
#include <algorithm>
#include <cmath>

#include "policies/compression/methods.hpp"

namespace tandem::compression {
namespace {

OptionSpec error_feedback(bool by_default) {
  return {.name = "error_feedback",
          .summary = "what a message lost is added to the next one",
          .default_value = by_default};
}
OptionSpec ratio() {
  return {.name = "ratio",
          .summary = "share of a message's elements that is sent, at least one",
          .default_value = 0.01,
          .minimum = 1e-6,
          .maximum = 1.0};
}
OptionSpec integer(const char* name, const char* summary, std::int64_t value, double minimum,
                   double maximum) {
  return {.name = name, .summary = summary, .default_value = value, .minimum = minimum, .maximum = maximum};
}

using Entries = std::vector<Catalog<Factory>::Entry>;

Entries casts() {
  return {{"none", "nothing is compressed", "", {}, {Sharing::summed, nullptr}},
          {"fp16",
           "every number in 16 bits, largest 65504: half of the bytes; all-reduces add halves",
           "Micikevicius et al.: Mixed Precision Training. ICLR 2018",
           {error_feedback(false)},
           {Sharing::summed, make_fp16, cast_efforts, &collectives::fp16_element}},
          {"bf16",
           "every number in 16 bits with a float's range: half of the bytes; all-reduces add halves",
           "Kalamkar et al.: A Study of BFLOAT16 for Deep Learning Training. arXiv:1905.12322, 2019",
           {error_feedback(false)},
           {Sharing::summed, make_bf16, cast_efforts, &collectives::bf16_element}}};
}

Entries sparse() {
  return {{"top-k",
           "the largest elements with their indices: 8 bytes each; all-gather",
           "Aji, Heafield: Sparse Communication for Distributed Gradient Descent. EMNLP 2017",
           {ratio(), error_feedback(true)},
           {Sharing::gathered, make_top_k, top_k_efforts}},
          {"random-k",
           "elements that a shared seed chooses, 4 bytes each; without error feedback times d / k, unbiased",
           "Stich, Cordonnier, Jaggi: Sparsified SGD with Memory. NeurIPS 2018",
           {ratio(), error_feedback(true)},
           {Sharing::summed, make_random_k, random_k_efforts, &collectives::float_element}}};
}

Entries quantised() {
  return {{"sign",
           "a bit an element, and a tensor's mean magnitude (EF-signSGD); all-gather",
           "Karimireddy, Rebjock, Stich, Jaggi: Error Feedback Fixes SignSGD and other Gradient Compression "
           "Schemes. ICML 2019",
           {error_feedback(true)},
           {Sharing::gathered, make_sign, sign_efforts}},
          {"one-bit",
           "a bit an element, and a tensor's two means, of each sign; all-gather",
           "Seide, Fu, Droppo, Li, Yu: 1-Bit Stochastic Gradient Descent and its Application to "
           "Data-Parallel Distributed Training of Speech DNNs. Interspeech 2014",
           {error_feedback(true)},
           {Sharing::gathered, make_one_bit, one_bit_efforts}},
          {"qsgd",
           "random levels of the norm of a few elements, unbiased; all-gather",
           "Alistarh, Grubic, Li, Tomioka, Vojnovic: QSGD: Communication-Efficient SGD via Gradient "
           "Quantization and Encoding. NeurIPS 2017",
           {integer("levels", "of a magnitude above 0", 4, 1, 32767),
            integer("bucket", "elements that have a norm together", 128, 1, 1e9)},
           {Sharing::gathered, make_qsgd, qsgd_efforts}}};
}

Entries low_rank() {
  return {{"power-sgd",
           "matrices as products of two narrow ones; over an all-reduce two sums a bucket",
           "Vogels, Karimireddy, Jaggi: PowerSGD: Practical Low-Rank Gradient Compression for Distributed "
           "Optimization. NeurIPS 2019",
           {integer("rank", "columns of the narrow matrices", 2, 1, 1024), error_feedback(true)},
           {Sharing::factored, make_power_sgd, power_sgd_efforts, nullptr, make_shared_factors}}};
}

}  // namespace

const Catalog<Factory>& catalog() {
  static const Catalog<Factory> table = [] {
    Entries all = casts();
    for (const Entries& more : {sparse(), quantised(), low_rank()})
      all.insert(all.end(), more.begin(), more.end());
    return Catalog<Factory>("compression", std::move(all));
  }();
  return table;
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
