// The compression methods, one file each, and their common parts. Other code finds them in the catalogue.
#pragma once

#include <span>
#include <string>

#include "policies/compression/codec.hpp"

namespace tandem::compression {

using Entry = Catalog<Factory>::Entry;

Entry fp16();
Entry bf16();
Entry top_k();
Entry dgc();
Entry random_k();
Entry sign();
Entry one_bit();
Entry qsgd();
Entry terngrad();
Entry two_bit();
Entry power_sgd();
Entry lossless();

/// A factory for a codec that is constructed from the setting.
template <class Method>
std::unique_ptr<Codec> make_codec(const Setting& setting) {
  return std::make_unique<Method>(setting);
}

OptionSpec error_feedback_option(bool default_value);
OptionSpec ratio_option();
OptionSpec integer_option(const std::string& name, const std::string& summary, std::int64_t default_value,
                          double minimum, double maximum);

/// The part's values among those of the stretch.
template <class T>
std::span<T> elements_of(const Part& part, std::span<T> values) {
  return values.subspan(static_cast<std::size_t>(part.begin), static_cast<std::size_t>(part.size()));
}

/// `share` times `elements` as a number of elements; at least one if there are any.
std::int64_t count_of_share(double share, std::int64_t elements);
/// Bytes of memory per element for error feedback if the codec does not encode with memory: it reads and
/// writes the unsent values twice, and writes the values that were sent.
double feedback_bytes(const Options& options);

}  // namespace tandem::compression
