// Top-k (Aji, Heafield, EMNLP 2017). A message has the k elements with the largest magnitudes, each with its
// index; of equal magnitudes, the first ones.

#include "policies/compression/largest_elements.hpp"
#include "policies/compression/methods.hpp"
#include "policies/compression/packing.hpp"

namespace tandem::compression {
namespace {

class TopK final : public LargestElementsCodec {
 public:
  explicit TopK(const Setting& setting)
      : LargestElementsCodec(setting.stretch.elements),
        count_(count_of_share(setting.options.real("ratio"), elements())) {}

  std::int64_t message_bytes() const override { return LargestElements::bytes_of(count_); }

  void encode(std::span<const float> values, std::int64_t, std::span<std::byte> message) override {
    check_sizes(values.size(), elements(), message.size(), message_bytes());
    largest_.resize(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) largest_.note(i, values[i]);
    largest_.put(count_, values, message, [](std::size_t) {});
  }

  bool encode_with_memory(std::span<const float> values, std::span<float> unsent, std::int64_t,
                          std::span<std::byte> message) override {
    check_sizes(values.size(), elements(), message.size(), message_bytes());
    TANDEM_CHECK(unsent.size() == values.size(), "unsent", unsent.size(), "values", values.size());
    largest_.resize(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      unsent[i] += values[i];
      largest_.note(i, unsent[i]);
    }
    // Subtracts instead of setting to zero, so that an infinite value or NaN leaves NaN and is detected.
    largest_.put(count_, unsent, message, [&](std::size_t i) { unsent[i] -= unsent[i]; });
    return true;
  }

 private:
  std::int64_t count_in(std::span<const std::byte> /*message*/) const override { return count_; }

  std::int64_t count_;
};

Efforts top_k_efforts(const Options& options) {
  constexpr double passes_of_selection = 3.0;  // over the magnitudes, read and written, to find the k-th
  constexpr double width = sizeof(float);
  // Unsent values are read and written together with the values; sent ones are written.
  const double feedback = has_error_feedback(options) ? 3 * width : 0.0;
  // Counted in top_k_kernels.cu: three passes of a radix select and one that writes read the values; with
  // feedback the first also reads and writes the unsent values. A message's elements are written, and
  // cleared.
  const double share = options.real("ratio");
  const bool feeds_back = has_error_feedback(options);
  const Effort on_gpu{
      .bytes = 4 * width + (feeds_back ? 2 * width : 0.0) + (feeds_back ? 3 : 2) * width * share,
      .kernels = 10};
  return {.compress = {4 * width + 2 * width * passes_of_selection + feedback},
          .decompress = {.bytes = width, .kernels = 2},
          .compress_on_gpu = on_gpu};
}

}  // namespace

Entry top_k() {
  return {.name = "top-k",
          .summary = "the largest elements and their indices, 8 bytes each; uses an all-gather",
          .paper = "Aji, Heafield: Sparse Communication for Distributed Gradient Descent. EMNLP 2017",
          .options = {ratio_option(), error_feedback_option(true)},
          .make = {.sharing = Sharing::gathered, .make = make_codec<TopK>, .efforts = top_k_efforts}};
}

}  // namespace tandem::compression
