// Images: shapes, pixels, scaling, and files that are broken.
#include "workloads/data/image.hpp"

#include <gtest/gtest.h>

#include "policies/vocabulary/check.hpp"
#include "tests/workloads/data/image_files.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

std::vector<std::byte> decoded(const std::string& file, const ImageShape& shape) {
  std::vector<std::byte> pixels(static_cast<std::size_t>(shape.channels * shape.height * shape.width));
  decode_image(bytes_of(file), "x.img", shape, pixels);
  return pixels;
}

std::string error_of(const std::string& file) {
  try {
    decoded(file, {1, 2, 2});
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

/// Equal pixels of one colour.
std::string plain_jpeg(int height, int width, int red, int green, int blue) {
  std::vector<unsigned char> pixels;
  for (int i = 0; i < height * width; ++i)
    for (const int value : {red, green, blue}) pixels.push_back(static_cast<unsigned char>(value));
  return jpeg(height, width, pixels);
}

TEST(Image, PngKeepsEveryPixel) {
  for (const int channels : {1, 3}) {
    const ImageShape shape{channels, 5, 9};
    const std::string file = text_of(encode_png(shape, pattern(shape)));
    EXPECT_EQ(image_shape(bytes_of(file), "x.png"), shape);
    EXPECT_EQ(decoded(file, shape), pattern(shape));
  }
}

TEST(Image, ColoursBecomeGreyByLuminanceAndGreyBecomesThreeEqualChannels) {
  const ImageShape colour{3, 1, 1};
  const std::vector<std::byte> pixel = {std::byte{255}, std::byte{0}, std::byte{0}};
  EXPECT_EQ(decoded(text_of(encode_png(colour, pixel)), {1, 1, 1}), std::vector{std::byte{77}});
  const ImageShape grey{1, 1, 2};
  const std::vector<std::byte> two = {std::byte{9}, std::byte{200}};
  EXPECT_EQ(decoded(text_of(encode_png(grey, two)), {3, 1, 2}),
            (std::vector{two[0], two[1], two[0], two[1], two[0], two[1]}));
}

TEST(Image, JpegHasItsShapeAndColour) {
  const std::string file = plain_jpeg(16, 24, 200, 100, 50);
  EXPECT_EQ(image_shape(bytes_of(file), "x.jpg"), (ImageShape{3, 16, 24}));
  const auto pixels = decoded(file, {3, 16, 24});
  for (std::size_t i = 0; i < pixels.size(); ++i)
    EXPECT_NEAR(std::to_integer<int>(pixels[i]), (std::array{200, 100, 50})[i / (16 * 24)], 3);
  const std::string grey = jpeg(8, 8, std::vector<unsigned char>(64, 77), TJPF_GRAY, TJSAMP_GRAY);
  EXPECT_EQ(image_shape(bytes_of(grey), "x.jpg").channels, 1);
  for (const std::byte pixel : decoded(grey, {1, 8, 8})) EXPECT_NEAR(std::to_integer<int>(pixel), 77, 1);
}

/// Of a picture in greys.
std::vector<std::byte> transposed(const std::vector<std::byte>& pixels, int width) {
  std::vector<std::byte> result;
  for (std::size_t column = 0; column < static_cast<std::size_t>(width); ++column)
    for (std::size_t at = column; at < pixels.size(); at += static_cast<std::size_t>(width))
      result.push_back(pixels[at]);
  return result;
}

TEST(Image, IsScaledToCoverTheShapeAndTheCentreIsCutOut) {
  // Left and right thirds are black, the middle one is white.
  const ImageShape wide{1, 10, 30};
  std::vector<std::byte> pixels(300);
  for (int row = 0; row < 10; ++row)
    for (int column = 10; column < 20; ++column)
      pixels[static_cast<std::size_t>(row * 30 + column)] = std::byte{255};
  const std::string file = text_of(encode_png(wide, pixels));
  EXPECT_EQ(decoded(file, {1, 10, 10}), std::vector(100, std::byte{255})) << "only cut";
  const auto halved = decoded(file, {1, 5, 5});
  for (int row = 0; row < 5; ++row)
    for (int column = 1; column < 4; ++column)
      EXPECT_EQ(halved[static_cast<std::size_t>(row * 5 + column)], std::byte{255});
  const auto enlarged = decoded(file, {1, 20, 60});
  EXPECT_EQ(enlarged[10 * 60 + 30], std::byte{255});
  EXPECT_EQ(enlarged[10 * 60 + 5], std::byte{0});
  const std::string tall = text_of(encode_png({1, 30, 10}, transposed(pixels, 30)));
  for (const auto& [height, width] : {std::pair(10, 10), std::pair(5, 5), std::pair(20, 60)}) {
    const auto own = decoded(file, {1, height, width});
    const auto other = decoded(tall, {1, width, height});
    const auto expected = transposed(own, width);
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(std::to_integer<int>(other[i]), std::to_integer<int>(expected[i]), 1) << height << ' ' << i;
  }
}

TEST(Image, ScalingAveragesAllPixelsThatFallIntoOne) {
  const ImageShape shape{1, 64, 64};
  std::vector<std::byte> board;
  for (int i = 0; i < 64 * 64; ++i) board.push_back((i + i / 64) % 2 == 0 ? std::byte{0} : std::byte{200});
  for (const std::byte pixel : decoded(text_of(encode_png(shape, board)), {1, 8, 8}))
    EXPECT_NEAR(std::to_integer<int>(pixel), 100, 2);
  std::vector<unsigned char> interleaved;
  for (const std::byte pixel : board)
    interleaved.insert(interleaved.end(), 3, std::to_integer<unsigned char>(pixel));
  for (const std::byte pixel : decoded(jpeg(64, 64, interleaved), {1, 8, 8}))
    EXPECT_NEAR(std::to_integer<int>(pixel), 100, 6);
}

TEST(Image, BrokenFilesAreNamed) {
  const ImageShape shape{1, 40, 40};
  const std::string png = text_of(encode_png(shape, pattern(shape)));
  const std::string photograph = plain_jpeg(64, 64, 1, 200, 3);
  std::vector<unsigned char> various;
  for (int i = 0; i < 64 * 64 * 3; ++i) various.push_back(static_cast<unsigned char>(i * i % 251));
  const std::string detailed = jpeg(64, 64, various);
  for (const std::string& broken :
       {png.substr(0, png.size() / 2), png.substr(0, 20), photograph.substr(0, photograph.size() / 2),
        detailed.substr(0, detailed.size() * 8 / 10), photograph.substr(0, 30)}) {
    const std::string error = error_of(broken);
    EXPECT_NE(error.find("image 'x.img': expected a whole "), std::string::npos) << error;
  }
  std::string changed = png;
  changed[png.size() / 2] = static_cast<char>(changed[png.size() / 2] ^ 0x40);
  EXPECT_NE(error_of(changed).find("a whole PNG image"), std::string::npos) << "its checksum is wrong";
  EXPECT_NE(error_of("GIF89a").find("a JPEG or PNG image, found something else"), std::string::npos);
  EXPECT_NE(error_of("").find("an empty file"), std::string::npos);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
