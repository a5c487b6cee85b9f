#!/bin/bash

SCRIPT_DIR=$( cd -- "$( dirname -- "${BASH_SOURCE[0]}" )" &> /dev/null && pwd)
PROJECT_ROOT=$(realpath $SCRIPT_DIR/../..)

set -eou pipefail

EXP_NAME=$(basename $0 .sh)
EXP_DIR=$SCRIPT_DIR/$EXP_NAME
LOG_DIR=$EXP_DIR/logs
CKPT_DIR=$EXP_DIR/ckpts
RUN_LOG=$EXP_DIR/run.log
export PYTHONPATH=${PROJECT_ROOT}:${PYTHONPATH:-}

rm -rf $EXP_DIR
mkdir -p $EXP_DIR

prefix_output() {
  sed -u "s/^/$1/"
}

train_cmd() {
uv run examples/run_sft.py \
    policy.model_name=Qwen/Qwen3-0.6B \
    cluster.gpus_per_node=1 \
    logger.tensorboard_enabled=true \
    logger.wandb_enabled=false \
    checkpointing.enabled=false \
    checkpointing.save_period=1 \
    "$@"
}

cd $PROJECT_ROOT

DTENSOR="policy.dtensor_cfg.enabled=true policy.megatron_cfg.enabled=false"
MCORE="policy.dtensor_cfg.enabled=false policy.megatron_cfg.enabled=true"
EARLY="checkpointing.checkpoint_must_save_by=0:0:0:1 checkpointing.enabled=true"

train_cmd logger.log_dir=$LOG_DIR/baseline sft.max_num_steps=2 $DTENSOR "$@" 2>&1 | prefix_output "[baseline 2step] " | tee ${RUN_LOG}.2step_baseline
uv run tests/json_dump_tb_logs.py $LOG_DIR/baseline --output_path $EXP_DIR/baseline.json
train_cmd logger.log_dir=$LOG_DIR/dtensor sft.max_num_steps=2 $EARLY checkpointing.checkpoint_dir=$CKPT_DIR/dtensor $DTENSOR "$@" 2>&1 | prefix_output "[dtensor 1step] " | tee ${RUN_LOG}.dtensor_1step
train_cmd logger.log_dir=$LOG_DIR/dtensor sft.max_num_steps=2 checkpointing.enabled=true checkpointing.checkpoint_dir=$CKPT_DIR/dtensor $DTENSOR "$@" 2>&1 | prefix_output "[dtensor 2step] " | tee ${RUN_LOG}.dtensor_2step
train_cmd logger.log_dir=$LOG_DIR/mcore sft.max_num_steps=2 $EARLY checkpointing.checkpoint_dir=$CKPT_DIR/mcore $MCORE "$@" 2>&1 | prefix_output "[mcore 1step] " | tee ${RUN_LOG}.mcore_1step
uv run tests/json_dump_tb_logs.py $LOG_DIR/mcore --output_path $EXP_DIR/mcore_1step.json
train_cmd logger.log_dir=$LOG_DIR/mcore sft.max_num_steps=2 checkpointing.enabled=true checkpointing.checkpoint_dir=$CKPT_DIR/mcore $MCORE "$@" 2>&1 | prefix_output "[mcore 2step] " | tee ${RUN_LOG}.mcore_2step
uv run tests/json_dump_tb_logs.py $LOG_DIR/mcore --output_path $EXP_DIR/mcore_2step.json

uv run python - <<EOF $EXP_DIR/baseline.json $EXP_DIR/mcore_2step.json
import json
import sys

base, mcore = (json.load(open(path)) for path in sys.argv[1:3])
for name in ("train/lr", "train/grad_norm", "train/loss"):
    for step in ("1", "2"):
        val, baseline = mcore[name][step], base[name][step]
        assert abs(val - baseline) <= 0.05 * abs(baseline), f"mcore_2[{name!r}][{step!r}] ({val}) != baseline ({baseline})"
        print(f"✓ {name} {step} is equal")
EOF
