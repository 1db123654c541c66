# Builds, demonstrates and tests Filtra on Windows, with the tools of MSYS2 (docs/windows.md).
#   .\run.ps1 build|demo|test
param([Parameter(Mandatory = $true)][ValidateSet('build', 'demo', 'test')][string]$Command)
$ErrorActionPreference = 'Stop'
Set-Location $PSScriptRoot

function Invoke-Checked {
  $program, $arguments = $args
  & $program @arguments
  if ($LASTEXITCODE) { Write-Error "$program failed with exit code $LASTEXITCODE" }
}

foreach ($tool in 'gcc', 'cmake', 'ninja', 'pkg-config', 'glslc') {
  if (-not (Get-Command $tool -ErrorAction SilentlyContinue)) {
    Write-Error "$tool is missing; docs/windows.md says which packages of MSYS2 are needed"
  }
}

$testing = if ($Command -eq 'test') { 'ON' } else { 'OFF' }
Invoke-Checked cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release "-DBUILD_TESTING=$testing"
Invoke-Checked cmake --build build
$filtra = 'build\filtra.exe'

switch ($Command) {
  'build' { "Built $filtra; try .\run.ps1 demo or $filtra --help" }
  'test' { Invoke-Checked ctest --test-dir build --output-on-failure -LE '^thorough$' }
  'demo' {
    if (Test-Path build\demo) { Remove-Item -Recurse build\demo }
    Invoke-Checked $filtra data listops --out build\demo\listops --train 20000 --val 500 `
      --test 1000 --min-length 3 --max-length 24 --max-depth 4 --max-args 4 --seed 1
    foreach ($mixer in 'agf', 'softmax') {
      Invoke-Checked $filtra train --data build\demo\listops --mixer $mixer --steps 1000 `
        --seed 1 --set schedule=one_cycle --set warmup_steps=100 --set learning_rate=0.003 `
        --set clip_norm=1 --set eval_every=333 --out build\demo\$mixer
      Invoke-Checked $filtra eval --run build\demo\$mixer
    }
    '[MAX 2 9 [MIN 4 7 ] 0 ]', '[MIN 8 6 [MAX 3 5 ] 9 ]', '[MED 1 7 4 ]' |
      & $filtra predict --run build\demo\agf
  }
}
