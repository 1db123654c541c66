/* A file of `filtra bench --out`. */
#ifndef TEST_APPS_BENCH_FILE_H
#define TEST_APPS_BENCH_FILE_H

static const char FILE_A[] =
    "{\"format\": \"filtra-bench-1\", \"filtra\": \"0.1.0\", \"commit\": \"aaaaaaaaaaaa\", "
    "\"date\": \"2026-11-21T09:00:00Z\", \"quick\": false, \"caps\": \"\", "
    "\"device\": {\"name\": \"A <fast> & \\\"quiet\\\" | card\", \"driver\": \"D 1.2\", \"class\": "
    "\"discrete\", \"memory_bytes\": 8589934592, \"subgroup_size\": 32, \"api_version\": "
    "\"1.3.2\"},"
    "\"host\": {\"cpu\": \"C\", \"cores\": 8, \"system\": \"Linux\"}, "
    "\"peaks\": {\"fma\": {\"gflops\": 1000.0}, \"copy\": {\"gbytes_per_second\": 100.0}, "
    "\"dispatch\": {\"seconds_best\": 1e-5}}, \"results\": ["
    "{\"op\": \"gemm\", \"case\": \"square\", \"variant\": \"tiled\", \"m\": 64, \"flops\": 2e9, "
    "\"bytes\": 1e7, \"gflops\": 500.0, \"gbytes_per_second\": 2.5, \"fraction_of_peak\": 0.5, "
    "\"seconds_best\": 0.003, \"seconds_median\": 0.004, \"seconds_worst\": 0.006, \"runs\": 5},"
    "{\"op\": \"gemm\", \"case\": \"long\", \"variant\": \"tiled\", \"m\": 4096, "
    "\"seconds_best\": 0.02, \"seconds_median\": 0.02, \"seconds_worst\": 0.02, \"runs\": 1},"
    "{\"op\": \"attention\", \"case\": \"n 256\", \"pass\": \"forward\", \"error\": \"out of "
    "<memory>\"},"
    "{\"op\": \"mixer_layer\", \"case\": \"agf, 1 x 1024 tokens\", \"mixer\": \"agf\", \"batch\": "
    "1,"
    " \"length\": 1024, \"seconds_best\": 0.008, \"seconds_median\": 0.008, \"seconds_worst\": "
    "0.008, \"memory_bytes\": 4194304},"
    "{\"op\": \"mixer_layer\", \"case\": \"agf, 1 x 2048 tokens\", \"mixer\": \"agf\", \"batch\": "
    "1,"
    " \"length\": 2048, \"seconds_best\": 0.016, \"seconds_median\": 0.016, \"seconds_worst\": "
    "0.016, \"memory_bytes\": 8388608},"
    "{\"op\": \"mixer_scaling\", \"case\": \"agf\", \"mixer\": \"agf\", \"time_exponent\": 1.0, "
    "\"memory_exponent\": -0.25},"
    "{\"op\": \"train_step\", \"case\": \"agf\", \"mixer\": \"agf\", \"tokens_per_second\": 4096.0,"
    " \"seconds_best\": 0.9, \"seconds_median\": 1.0, \"seconds_worst\": 1.5}],"
    "\"losses\": [{\"mixer\": \"agf\", \"config\": {\"width\": 32, \"mixer\": {\"name\": \"agf\", "
    "\"K\": 2}}, \"seed\": 1, \"steps\": 4, \"values\": [2.5, 2.0, 1.0, 0.5]}]}";

#endif
