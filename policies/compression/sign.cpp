// EF-signSGD (Karimireddy, Rebjock, Stich, Jaggi, ICML 2019). A message has the sign of each element and the
// mean magnitude of each tensor.
#include <algorithm>
#include <cmath>

#include "policies/compression/methods.hpp"
#include "policies/compression/packing.hpp"

namespace tandem::compression {
namespace {

class Sign final : public Codec {
 public:
  explicit Sign(const Setting& setting) : stretch_(setting.stretch) {}

  std::int64_t message_bytes() const override {
    return sign_bytes() + static_cast<std::int64_t>(stretch_.parts.size() * sizeof(float));
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
      put(means, part, static_cast<float>(sum / static_cast<double>(stretch_.parts[part].size())));
    }
  }

  void decode(std::span<const std::byte> message, std::int64_t, std::span<float> values) override {
    check_sizes(values.size(), stretch_.elements, message.size(), message_bytes());
    const auto means = message.subspan(static_cast<std::size_t>(sign_bytes()));
    BitReader signs(message, 1);
    for (std::size_t part = 0; part < stretch_.parts.size(); ++part) {
      const auto mean = get<float>(means, part);
      for (float& value : elements_of(stretch_.parts[part], values)) value = signs.get() == 1 ? -mean : mean;
    }
  }

 private:
  std::int64_t sign_bytes() const { return packed_bytes(stretch_.elements, 1); }

  Stretch stretch_;
};

Efforts sign_efforts(const Options& options) {
  constexpr double width = sizeof(float) + 0.125;
  return {{width + feedback_bytes(options), 3.0, 2}, {width, 2.0}};
}

}  // namespace

Entry sign() {
  return {.name = "sign",
          .summary =
              "the sign of each element and the mean magnitude of each tensor (EF-signSGD); uses an "
              "all-gather",
          .paper =
              "Karimireddy, Rebjock, Stich, Jaggi: Error Feedback Fixes SignSGD and other Gradient "
              "Compression Schemes. ICML 2019",
          .options = {error_feedback_option(true)},
          .make = {.sharing = Sharing::gathered, .make = make_codec<Sign>, .efforts = sign_efforts}};
}

}  // namespace tandem::compression
