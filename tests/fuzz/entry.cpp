// The entry point of libFuzzer: `clang++ -fsanitize=fuzzer` brings its own main. The environment variable
// TANDEM_FUZZ_KIND names the kind of input.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/fuzz/kinds.hpp"

namespace {

const tandem::fuzz::Kind& chosen_kind() {
  static const tandem::fuzz::Kind* const kind = [] {
    const char* name = std::getenv("TANDEM_FUZZ_KIND");
    return tandem::fuzz::find_kind(name == nullptr ? "" : name);
  }();
  if (kind != nullptr) return *kind;
  std::fprintf(stderr, "TANDEM_FUZZ_KIND must be one of:");
  for (const auto& known : tandem::fuzz::kinds()) std::fprintf(stderr, " %s", known.name);
  std::fprintf(stderr, "\n");
  std::exit(2);
}

const std::string& scratch_folder() {
  static const std::string folder = [] {
    std::string name = "/tmp/tandem-fuzz-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) std::abort();
    return name;
  }();
  return folder;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  tandem::fuzz::read_or_abort(chosen_kind(), input, scratch_folder());
  return 0;
}
