# shellcheck shell=sh
# Part of ./run: the demo, and the command with the fastest driver there is.
# shellcheck disable=SC2034,SC2154 # variables are shared with ./run

# ListOps (Nangia & Bowman 2018): nested MIN, MAX, MED and sum-modulo-10 of digits, ten classes.
demo() {
  built=filtra_command threads=
  build driver
  require_device
  if [ "$(device_class)" = cpu ]; then
    export FILTRA_DEVICE=cpu
    say "No driver of a GPU was found; this runs on the CPU."
    threads="--driver-threads 1" # steps are so short that waking others takes longer
    find_newer_driver
    if [ -n "$newer_driver" ]; then
      say "Using lavapipe from backports, unpacked below build/: 5 times Debian 12's own speed."
      use_driver "$newer_driver"
    fi
  fi
  if [ "$quick" = 1 ]; then steps=300; else steps=1000; fi
  rm -rf build/demo

  step "Data: 20,000 short ListOps expressions to learn from, 1,000 others to be tested on"
  build/filtra data listops --out build/demo/listops --train 20000 --val 500 --test 1000 \
    --min-length 3 --max-length 24 --max-depth 4 --max-args 4 --seed 1

  for mixer in agf softmax; do
    step "Training an encoder with the token mixer $mixer"
    # shellcheck disable=SC2086
    build/filtra train --data build/demo/listops --mixer $mixer --steps $steps --seed 1 $threads \
      --set schedule=one_cycle --set warmup_steps=$((steps / 10)) --set learning_rate=0.003 \
      --set clip_norm=1 --set eval_every=$((steps / 3)) --out build/demo/$mixer
  done
  step "Accuracy on the 1,000 expressions that neither has seen"
  for mixer in agf softmax; do
    found=$(build/filtra eval --run build/demo/$mixer)
    printf '%-8s %s\n' $mixer "$(printf '%s\n' "$found" | sed -n 1p)"
  done

  step "Three predictions of the agf encoder: class, probability, expression"
  printf '%s\n' '[MAX 2 9 [MIN 4 7 ] 0 ]' '[MIN 8 6 [MAX 3 5 ] 9 ]' '[MED 1 7 4 ]' |
    build/filtra predict --run build/demo/agf
  say "(They come to 9, 5 and 4.) The runs are in build/demo/."
  if [ -n "${newer_driver:-}" ]; then
    say "build/filtra by itself takes the system's driver, which is 5 times slower than the one"
    say "used here. ./run filtra ARGUMENTS takes this one, too, as does a shell after"
    say "  export VK_DRIVER_FILES=$newer_driver"
  fi
}

# run_filtra ARGUMENT...: from the folder where ./run was called. Does not return.
run_filtra() {
  root=$PWD
  [ -x build/filtra ] || refuse "build/filtra is not there: ./run build makes it"
  unpacked=$root/build/mesa-backports/lvp.json
  if [ -z "${VK_DRIVER_FILES:-}${VK_ICD_FILENAMES:-}" ] && [ -e "$unpacked" ] &&
    [ "$(device_class)" = cpu ]; then
    use_driver "$unpacked"
  fi
  cd "$start" || exit 1
  exec "$root/build/filtra" "$@"
}
