# brew install --build-from-source packaging/homebrew/filtra.rb, with the source tarball that
# packaging/source.sh writes beside this file.
class Filtra < Formula
  desc "Transformers with graph filters on any Vulkan GPU"
  url "file://#{File.expand_path("filtra-0.1.0.tar.xz", __dir__)}"
  license "Apache-2.0"

  depends_on "cmake" => :build
  depends_on "pkgconf" => :build
  depends_on "shaderc" => :build
  depends_on "volk" => :build
  depends_on "vulkan-headers" => :build
  depends_on "jansson"
  depends_on "jpeg-turbo"
  depends_on "libpng"
  depends_on "vulkan-loader"
  uses_from_macos "zlib"

  def install
    system "cmake", "-S", ".", "-B", "build", "-DBUILD_TESTING=OFF", *std_cmake_args
    system "cmake", "--build", "build"
    system "cmake", "--install", "build"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/filtra --version")
  end
end
