// EF-signSGD (Karimireddy, Rebjock, Stich, Jaggi, ICML 2019). A message has the sign of each element and the
// mean magnitude of each tensor. Without magnitudes, and with compressed replies of means, it is signSGD with
// majority vote (Bernstein, Wang, Azizzadenesheli, Anandkumar, ICML 2018): the sign of a sum of signs.
#include <algorithm>
#include <cmath>

#include "policies/compression/methods.hpp"
#include "policies/compression/packing.hpp"

namespace tandem::compression {
namespace {

bool has_magnitudes(const Options& options) { return options.text("magnitude") == "mean"; }

class Sign final : public Codec {
 public:
  explicit Sign(const Setting& setting)
      : stretch_(setting.stretch), sends_means_(has_magnitudes(setting.options)) {}

  std::int64_t message_bytes() const override {
    const std::size_t means = sends_means_ ? stretch_.parts.size() : 0;
    return sign_bytes() + static_cast<std::int64_t>(means * sizeof(float));
  }

  void encode(std::span<const float> values, std::int64_t, std::span<std::byte> message) override {
    check_sizes(values.size(), stretch_.elements, message.size(), message_bytes());
    const auto means = message.subspan(static_cast<std::size_t>(sign_bytes()));
    BitWriter signs(message, 1);
    for (std::size_t part = 0; part < stretch_.parts.size(); ++part) {
      double sum = 0.0;
      for (const float value : elements_of(stretch_.parts[part], values)) {
        sum += std::abs(static_cast<double>(value));
        signs.put(std::signbit(value) ? 1 : 0);
      }
      if (sends_means_)
        put(means, part, static_cast<float>(sum / static_cast<double>(stretch_.parts[part].size())));
    }
  }

  void decode(std::span<const std::byte> message, std::int64_t, std::span<float> values) override {
    check_sizes(values.size(), stretch_.elements, message.size(), message_bytes());
    const auto means = message.subspan(static_cast<std::size_t>(sign_bytes()));
    BitReader signs(message, 1);
    for (std::size_t part = 0; part < stretch_.parts.size(); ++part) {
      const float mean = sends_means_ ? get<float>(means, part) : 1.0F;
      for (float& value : elements_of(stretch_.parts[part], values)) value = signs.get() == 1 ? -mean : mean;
    }
  }

 private:
  std::int64_t sign_bytes() const { return packed_bytes(stretch_.elements, 1); }

  Stretch stretch_;
  bool sends_means_;
};

Efforts sign_efforts(const Options& options) {
  constexpr double width = sizeof(float) + 0.125;
  return {{width + feedback_bytes(options), 3.0, 2}, {width, 2.0}};
}

}  // namespace

Entry sign() {
  return {
      .name = "sign",
      .summary =
          "the sign of each element and the mean magnitude of each tensor (EF-signSGD), or its sign alone "
          "(signSGD); uses an all-gather",
      .paper =
          "Karimireddy, Rebjock, Stich, Jaggi: Error Feedback Fixes SignSGD and other Gradient "
          "Compression Schemes. ICML 2019",
      .options = {{.name = "magnitude",
                   .summary = "of the values that arrive: the mean of each tensor, or one; one makes a "
                              "majority vote of compressed replies with optimizer.update_at workers",
                   .default_value = std::string("mean"),
                   .choices = {"mean", "one"}},
                  error_feedback_option(true)},
      .make = {.sharing = Sharing::gathered,
               .make = make_codec<Sign>,
               .efforts = sign_efforts,
               .may_err_widely = [](const Options& options) { return !has_magnitudes(options); }}};
}

}  // namespace tandem::compression
