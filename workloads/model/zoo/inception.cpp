// Inception v3 without the auxiliary classifier, as torchvision builds it. Source: Szegedy et al. (2016).
#include "workloads/model/zoo/models.hpp"

namespace tandem::models {
namespace {

/// One convolution as the paper's figures write it. `padded`: the shape stays, but for the stride.
struct Unit {
  std::string name;
  std::int64_t outputs;
  Extent kernel;
  std::int64_t stride = 1;
  bool padded = true;
};

/// Each convolution is normalised and rectified.
Layers layers_of(const std::string& prefix, const Unit& unit) {
  const Extent padding = unit.padded ? Extent(unit.kernel.height / 2, unit.kernel.width / 2) : Extent(0);
  const std::string name = prefix + unit.name;
  return {{name + ".conv", Convolution{.outputs = unit.outputs,
                                       .kernel = unit.kernel,
                                       .stride = unit.stride,
                                       .padding = padding,
                                       .bias = false}},
          {name + ".bn", BatchNorm{.epsilon = 1e-3}},
          {"", Relu{}}};
}

Layers chain(const std::string& block, const std::vector<Unit>& units) {
  Layers layers;
  for (const auto& each : units) append(layers, layers_of(block + '.', each));
  return layers;
}

Layers pooled(const std::string& block, std::int64_t outputs) {
  Layers layers = {{"", AveragePool{3, 1, 1}}};
  append(layers, layers_of(block + '.', {"branch_pool", outputs, 1}));
  return layers;
}

Segment joined(std::vector<Layers> branches) { return {{{"", Branches{std::move(branches)}}}}; }

/// Figure 5: two 3x3 instead of a 5x5.
Segment block_a(const std::string& name, std::int64_t pool_outputs) {
  return joined(
      {chain(name, {{"branch1x1", 64, 1}}), chain(name, {{"branch5x5_1", 48, 1}, {"branch5x5_2", 64, 5}}),
       chain(name, {{"branch3x3dbl_1", 64, 1}, {"branch3x3dbl_2", 96, 3}, {"branch3x3dbl_3", 96, 3}}),
       pooled(name, pool_outputs)});
}

/// Figure 10: from 35x35 to 17x17.
Segment block_b(const std::string& name) {
  return joined(
      {chain(name, {{"branch3x3", 384, 3, 2, false}}),
       chain(name,
             {{"branch3x3dbl_1", 64, 1}, {"branch3x3dbl_2", 96, 3}, {"branch3x3dbl_3", 96, 3, 2, false}}),
       {{"", MaxPool{3, 2}}}});
}

/// Figure 6: rows and columns of seven instead of squares.
Segment block_c(const std::string& name, std::int64_t width) {
  const Extent row(1, 7);
  const Extent column(7, 1);
  return joined(
      {chain(name, {{"branch1x1", 192, 1}}),
       chain(name, {{"branch7x7_1", width, 1}, {"branch7x7_2", width, row}, {"branch7x7_3", 192, column}}),
       chain(name, {{"branch7x7dbl_1", width, 1},
                    {"branch7x7dbl_2", width, column},
                    {"branch7x7dbl_3", width, row},
                    {"branch7x7dbl_4", width, column},
                    {"branch7x7dbl_5", 192, row}}),
       pooled(name, 192)});
}

/// From 17x17 to 8x8.
Segment block_d(const std::string& name) {
  return joined({chain(name, {{"branch3x3_1", 192, 1}, {"branch3x3_2", 320, 3, 2, false}}),
                 chain(name, {{"branch7x7x3_1", 192, 1},
                              {"branch7x7x3_2", 192, Extent(1, 7)},
                              {"branch7x7x3_3", 192, Extent(7, 1)},
                              {"branch7x7x3_4", 192, 3, 2, false}}),
                 {{"", MaxPool{3, 2}}}});
}

/// Figure 7: the rows and columns of three in parallel.
Segment block_e(const std::string& name) {
  const auto split = [&](Layers layers, const std::string& branch) {
    layers.push_back({"", Branches{{chain(name, {{branch + 'a', 384, Extent(1, 3)}}),
                                    chain(name, {{branch + 'b', 384, Extent(3, 1)}})}}});
    return layers;
  };
  return joined(
      {chain(name, {{"branch1x1", 320, 1}}), split(chain(name, {{"branch3x3_1", 384, 1}}), "branch3x3_2"),
       split(chain(name, {{"branch3x3dbl_1", 448, 1}, {"branch3x3dbl_2", 384, 3}}), "branch3x3dbl_3"),
       pooled(name, 192)});
}

}  // namespace

Segments inception_v3(const DatasetInfo& images) {
  Segments segments = {{layers_of("", {"Conv2d_1a_3x3", 32, 3, 2, false})},
                       {layers_of("", {"Conv2d_2a_3x3", 32, 3, 1, false})},
                       {layers_of("", {"Conv2d_2b_3x3", 64, 3})},
                       {layers_of("", {"Conv2d_3b_1x1", 80, 1})},
                       {layers_of("", {"Conv2d_4a_3x3", 192, 3, 1, false})}};
  segments[2].layers.push_back({"", MaxPool{3, 2}});
  segments[4].layers.push_back({"", MaxPool{3, 2}});
  segments.push_back(block_a("Mixed_5b", 32));
  segments.push_back(block_a("Mixed_5c", 64));
  segments.push_back(block_a("Mixed_5d", 64));
  segments.push_back(block_b("Mixed_6a"));
  segments.push_back(block_c("Mixed_6b", 128));
  segments.push_back(block_c("Mixed_6c", 160));
  segments.push_back(block_c("Mixed_6d", 160));
  segments.push_back(block_c("Mixed_6e", 192));
  segments.push_back(block_d("Mixed_7a"));
  segments.push_back(block_e("Mixed_7b"));
  segments.push_back(block_e("Mixed_7c"));
  segments.push_back(
      {{{"", GlobalAveragePool{}}, {"", Dropout{0.5}}, {"", Flatten{}}, {"fc", Linear{images.classes}}}});
  return segments;
}

}  // namespace tandem::models
