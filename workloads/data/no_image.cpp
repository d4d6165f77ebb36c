// A build without libjpeg-turbo and libspng.
#include "policies/vocabulary/check.hpp"
#include "workloads/data/image.hpp"

namespace tandem {
namespace {

[[noreturn]] void fail(const std::string& name) {
  throw ConfigError(
      "image '" + name +
      "': this program was built without libjpeg-turbo and libspng and reads no images; install "
      "libturbojpeg0-dev and libspng-dev and build it again");
}

}  // namespace

ImageShape image_shape(std::span<const std::byte>, const std::string& name) { fail(name); }

void decode_image(std::span<const std::byte>, const std::string& name, const ImageShape&,
                  std::span<std::byte>) {
  fail(name);
}

std::vector<std::byte> encode_png(const ImageShape&, std::span<const std::byte>) { fail("PNG"); }

bool has_image_libraries() { return false; }

}  // namespace tandem
